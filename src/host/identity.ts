/**
 * Who a process is, so that it is never taken for another: a pid is reused, and containers that share a home do not
 * share pids. Death is judged by locks; this is for what a lock cannot tell, above all whether a process group that a
 * log names is still the one that the log means.
 */
import { hostname, uptime } from 'node:os'
import { clock } from '../clock.js'
import { randomUuid } from '../start/random.js'
import { readLinkIfThere } from './disk/facts.js'
import { readProc } from './disk/io.js'

export interface ProcessIdentity {
  /** Changes with each start of the kernel. */
  kernel_boot_id: string
  /** Pids mean something only within one pid namespace. */
  pid_namespace: string
  pid: number
  /** Clock ticks since the kernel's start, from /proc/<pid>/stat; 0 where there is no /proc. */
  start_time: number
}

let own: ProcessIdentity | undefined

export function ownIdentity(): ProcessIdentity {
  own ??= {
    kernel_boot_id: kernelBootId(),
    pid_namespace: pidNamespace(),
    pid: process.pid,
    start_time: processStartTime(process.pid) ?? 0,
  }
  return own
}

/** The identity as one word: what the records call `boot_id`. */
export function bootId(identity: ProcessIdentity = ownIdentity()): string {
  return `${identity.kernel_boot_id}/${identity.pid_namespace}/${identity.pid}/${identity.start_time}`
}

export function hostName(): string {
  return hostname()
}

/** Undefined where there is no such process (or no /proc). */
export function processStartTime(pid: number): number | undefined {
  const field = statFields(pid)?.[19]
  return field === undefined ? undefined : Number(field)
}

/** Whether it has begun to exit: it shows no environment any more, and may take long until it is gone. */
export function isExiting(pid: number): boolean {
  const PF_EXITING = 0x4
  return (Number(statFields(pid)?.[6] ?? PF_EXITING) & PF_EXITING) !== 0
}

export function processGroup(pid: number): number | undefined {
  const fields = statFields(pid)
  // A zombie has left its group for every purpose of ours.
  if (fields === undefined || fields[0] === 'Z') return undefined
  return Number(fields[2])
}

/** Those after the command in parentheses, which may itself hold spaces and parentheses. */
function statFields(pid: number): string[] | undefined {
  const stat = readProc(`/proc/${pid}/stat`)?.toString('latin1')
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** How long a process that is becoming another program is waited for: a slow disk, or a share of the CPU, holds it up. */
const EXEC_MS_MAX = 2000
/** An environment that is empty as often, and of no process that is becoming another, is empty. */
const EMPTY_LOOKS = 3

/** The value of one variable in the environment that the process was started with. */
export function environmentOf(pid: number, name: string): string | undefined {
  const environment = readEnvironment(pid)?.toString('utf8').split('\0')
  return environment?.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** In the middle of `exec` a process shows no environment, and would be taken for a stranger: its end is waited for. */
function readEnvironment(pid: number): Buffer | undefined {
  const file = `/proc/${pid}/environ`
  let environment = readProc(file)
  let looks = 0
  for (let waitedMs = 0; environment?.length === 0 && waitedMs < EXEC_MS_MAX; waitedMs++) {
    if (isInExec(pid)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    // It may have been between the two looks, and may begin again between the next two.
    else if (++looks > EMPTY_LOOKS) break
    environment = readProc(file)
  }
  return environment
}

/** The kernel sets where the environment ends last. That of a process of another user reads as 0 too. */
function isInExec(pid: number): boolean {
  const [PF_EXITING, PF_KTHREAD] = [0x4, 0x200000]
  const fields = statFields(pid)
  if (fields === undefined || fields[0] === 'Z') return false
  return (Number(fields[6]) & (PF_EXITING | PF_KTHREAD)) === 0 && fields[48] === '0'
}

/**
 * What the wall clock and the machine's uptime said at one moment. A duration that begins now is stored with it: the wall
 * clock may be set, the uptime of one kernel boot only ever counts.
 */
export interface ClockReading {
  /** ISO 8601, of the wall clock as it was, right or wrong. */
  at: string
  kernel_boot_id: string
  /** Since that boot, time asleep included. */
  uptime_ms: number
}

export function readClock(): ClockReading {
  const { kernel_boot_id } = ownIdentity()
  return { at: new Date(clock.now()).toISOString(), kernel_boot_id, uptime_ms: uptimeMs() }
}

/** Read from /proc, which no library that fakes the time stands in front of. */
function uptimeMs(): number {
  if (clock.uptime !== undefined) return Math.round(clock.uptime())
  const seconds = Number.parseFloat(readProc('/proc/uptime')?.toString('latin1') ?? '')
  return Math.round((Number.isNaN(seconds) ? uptime() : seconds) * 1000)
}

function kernelBootId(): string {
  const text = readProc('/proc/sys/kernel/random/boot_id')?.toString('latin1').trim()
  // Without /proc nothing tells one start of the kernel from another: an id of its own makes every process a stranger,
  // and recovery scans instead of trusting markers.
  return text ?? randomUuid()
}

function pidNamespace(): string {
  return /\d+/.exec(readLinkIfThere('/proc/self/ns/pid') ?? '')?.[0] ?? '0'
}
