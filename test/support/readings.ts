/** What the clocks say at a time of a test. */
import type { ClockReading } from '../../src/host/identity.js'

/** `uptimeMs`: of the boot `bootId`. By default the uptime says nothing: no time has gone by. */
export function reading(at: string, uptimeMs = 0, bootId = 'test-boot'): ClockReading {
  return { at, kernel_boot_id: bootId, uptime_ms: uptimeMs }
}
