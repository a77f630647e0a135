/**
 * Names of temporary files. Each name identifies its writer, so a sweep can check whether that process lives. A clock
 * cannot decide it, because clocks step.
 */
import { ownIdentity, processStartTime } from '../identity.js'

const TEMPORARY = /\.\d+-[0-9a-z]+\.tmp$/
/**
 * Pid, host (if known), kernel boot, pid namespace and start time of the writer, then a counter and random digits for
 * uniqueness.
 */
const WRITER = /\.(\d+)-(?:w|h([0-9a-f]{8}))([0-9a-f]{8})([0-9a-z]{7})([0-9a-z]{9})[0-9a-z]+\.tmp$/

export function isTemporaryName(name: string): boolean {
  return TEMPORARY.test(name)
}

let counter = 0

/** Unique within a home. Two containers may have the same pid, hence the random digits. */
export function temporaryName(path: string): string {
  counter += 1
  const random = Math.random().toString(36).slice(2, 10)
  return `${path}.${process.pid}-${writerMark()}${counter.toString(36)}${random}.tmp`
}

/**
 * State of the process that writes a temporary file. `unknown`: it is on another host or in another pid namespace,
 * there is no /proc, or an older version made the name.
 */
export function writerOf(name: string): 'alive' | 'dead' | 'unknown' {
  const [, pid, host, boot, namespace, start] = WRITER.exec(name) ?? []
  const own = ownIdentity()
  if (boot === undefined || own.start_time === 0) return 'unknown'
  if (boot !== shortened(own.kernel_boot_id)) {
    const isOurs = host === undefined || own.host_id === undefined || host === shortened(own.host_id)
    return isOurs ? 'dead' : 'unknown'
  }
  if (namespace !== fixedDigits(own.pid_namespace, 7)) return 'unknown'
  const started = processStartTime(Number(pid))
  return started !== undefined && fixedDigits(started, 9) === start ? 'alive' : 'dead'
}

function writerMark(): string {
  const { kernel_boot_id, pid_namespace, start_time, host_id } = ownIdentity()
  // Without /proc, no process can be distinguished from another.
  if (start_time === 0) return ''
  const host = host_id === undefined ? 'w' : `h${shortened(host_id)}`
  return `${host}${shortened(kernel_boot_id)}${fixedDigits(pid_namespace, 7)}${fixedDigits(start_time, 9)}`
}

function shortened(id: string): string {
  return id.slice(0, 8)
}

function fixedDigits(value: number | string, digits: number): string {
  return Number(value).toString(36).padStart(digits, '0').slice(-digits)
}
