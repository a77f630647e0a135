/** Clock readings at a moment of a test. */
import type { ClockReading } from '../../src/host/identity.js'

/** `uptimeMs` belongs to the boot `bootId`. By default it shows no elapsed time. */
export function reading(at: string, uptimeMs = 0, bootId = 'test-boot'): ClockReading {
  return { at, kernel_boot_id: bootId, uptime_ms: uptimeMs }
}
