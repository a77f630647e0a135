/**
 * Identities of processes. A pid alone is ambiguous: the kernel reuses pids, and containers that share a home have
 * separate pid namespaces. Locks show whether a process is dead. An identity answers other questions, above all whether
 * a process group in a log is still the same group.
 */
import { hostname, uptime } from 'node:os'
import { clock } from '../clock.js'
import { randomUuid } from '../start/random.js'
import { readLinkIfThere } from './disk/facts.js'
import { readProc } from './disk/outside.js'
import { readHostId } from './host-id.js'

export interface ProcessIdentity {
  /** Changes at each boot of the kernel. */
  kernel_boot_id: string
  /** A pid is unique only within its pid namespace. */
  pid_namespace: string
  pid: number
  /** Clock ticks since boot, from /proc/<pid>/stat; 0 without /proc. */
  start_time: number
  /** The machine. Undefined if it has no machine-id. */
  readonly host_id: string | undefined
}

let own: ProcessIdentity | undefined

export function ownIdentity(): ProcessIdentity {
  own ??= {
    kernel_boot_id: kernelBootId(),
    pid_namespace: pidNamespace(),
    pid: process.pid,
    start_time: processStartTime(process.pid) ?? 0,
    // Read at the first use: most commands do not need it.
    get host_id() {
      const value = readHostId()
      Object.defineProperty(this, 'host_id', { value, enumerable: true, configurable: true })
      return value
    },
  }
  return own
}

/** The identity as one string: `boot_id` in records. */
export function bootId(identity: ProcessIdentity = ownIdentity()): string {
  return `${identity.kernel_boot_id}/${identity.pid_namespace}/${identity.pid}/${identity.start_time}`
}

let name: string | undefined

/** Read once: each batch of a turn names the host. */
export function hostName(): string {
  name ??= hostname()
  return name
}

/** Undefined without such a process, or without /proc. */
export function processStartTime(pid: number): number | undefined {
  const field = statFields(pid)?.[19]
  return field === undefined ? undefined : Number(field)
}

/** Whether the process has begun to exit. Its environment is then unreadable, and the exit may take long. */
export function isExiting(pid: number): boolean {
  const PF_EXITING = 0x4
  return (Number(statFields(pid)?.[6] ?? PF_EXITING) & PF_EXITING) !== 0
}

/** Its letter in proc(5). Undefined without such a process. */
export function processState(pid: number): string | undefined {
  return statFields(pid)?.[0]
}

export function processGroup(pid: number): number | undefined {
  const fields = statFields(pid)
  // A zombie runs no code, so it counts as no longer in its group.
  if (fields === undefined || fields[0] === 'Z') return undefined
  return Number(fields[2])
}

/** Whether a shell has put this process into the background of its terminal. A read from there would stop the process. */
export function isInBackground(): boolean {
  const [, , group, , , foreground] = statFields(process.pid) ?? []
  return Number(foreground) > 0 && foreground !== group
}

/** The fields after the command name, which is in parentheses and may itself contain spaces and parentheses. */
function statFields(pid: number): string[] | undefined {
  const stat = readProc(`/proc/${pid}/stat`)?.toString('latin1')
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Longest wait for a process inside `exec`, which a slow disk or a CPU quota can delay. */
const EXEC_MS_MAX = 2000
/** An environment counts as empty if more than this many reads outside `exec` return nothing. */
const EMPTY_LOOKS = 3

/** The value of one variable in the environment with which the process was started. */
export function environmentOf(pid: number, name: string): string | undefined {
  const environment = readEnvironment(pid)?.toString('utf8').split('\0')
  return environment?.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
}

/**
 * Inside `exec` a process has an empty environment and would look like a foreign process, so this waits for `exec` to
 * end.
 */
function readEnvironment(pid: number): Buffer | undefined {
  const file = `/proc/${pid}/environ`
  let environment = readProc(file)
  let looks = 0
  for (let waitedMs = 0; environment?.length === 0 && waitedMs < EXEC_MS_MAX; waitedMs++) {
    if (isInExec(pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    // `exec` may fall between the read of the environment and this check, so one empty read proves nothing.
    else if (++looks > EMPTY_LOOKS) break
    environment = readProc(file)
  }
  return environment
}

/**
 * `exec` sets `env_end` (field 48 here) last, so 0 means that `exec` is not done. Another user's process also shows 0.
 */
function isInExec(pid: number): boolean {
  const [PF_EXITING, PF_KTHREAD] = [0x4, 0x200000]
  const fields = statFields(pid)
  if (fields === undefined || fields[0] === 'Z') return false
  return (Number(fields[6]) & (PF_EXITING | PF_KTHREAD)) === 0 && fields[48] === '0'
}

/**
 * The wall clock and the uptime at one moment, stored as the start of a duration. The wall clock may be set; the uptime
 * only grows within one kernel boot.
 */
export interface ClockReading {
  /** The wall clock, right or wrong, as ISO 8601. */
  at: string
  kernel_boot_id: string
  /** Since that boot, including suspended time. */
  uptime_ms: number
}

export function readClock(): ClockReading {
  const { kernel_boot_id } = ownIdentity()
  return { at: new Date(clock.now()).toISOString(), kernel_boot_id, uptime_ms: uptimeMs() }
}

/** Reads /proc first, because a library that fakes the time does not intercept it. */
export function uptimeMs(): number {
  if (clock.uptime !== undefined) return Math.round(clock.uptime())
  const seconds = Number.parseFloat(readProc('/proc/uptime')?.toString('latin1') ?? '')
  return Math.round((Number.isNaN(seconds) ? uptime() : seconds) * 1000)
}

function kernelBootId(): string {
  const text = readProc('/proc/sys/kernel/random/boot_id')?.toString('latin1').trim()
  // Without /proc one boot looks like another. A random id makes every other process foreign, and
  // recovery scans instead of trusting markers.
  return text ?? randomUuid()
}

function pidNamespace(): string {
  return /\d+/.exec(readLinkIfThere('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}
