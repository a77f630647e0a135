import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/**
 * Milliseconds since the machine booted, with the time that it slept: a machine that wakes up finds its leases over. Node's own
 * monotonic clock stands still while a Linux machine sleeps.
 */
export function uptimeMs(): number {
  try {
    return Math.round(Number.parseFloat(readFileSync('/proc/uptime', 'latin1')) * 1000)
  } catch {
    return Math.round(uptime() * 1000)
  }
}
