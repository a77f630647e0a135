/**
 * Where a recorded process is, as far as this process can tell.
 *
 * Invariant: a process of another host never counts as gone. Only that host can see it.
 */
import { clock } from '../clock.js'
import { ownIdentity, uptimeMs } from './identity.js'

/**
 * - `here`: under this kernel. Its pid may still be in another pid namespace.
 * - `past`: it was on this machine before its last restart, so it is gone.
 * - `elsewhere`: on another machine, where it may be alive.
 */
export type Place = 'here' | 'past' | 'elsewhere'

export interface RecordedPlace {
  kernel_boot_id: string
  host_id?: string | undefined
}

/** A restart takes longer than this. Smaller differences may come from a corrected clock. */
const RESTART_MS_MIN = 5000

/**
 * An unknown host counts as this machine. Kernel boot ids are unique, so the same one means the same kernel, also for containers
 * with different machine-ids.
 *
 * Two machines may have the same machine-id (clones). Then the boot ids differ, as after a restart. `seenAt` is when a process
 * of the recorded boot last wrote. After this kernel's boot, only another machine can have done that.
 */
export function placeOf({ kernel_boot_id, host_id }: RecordedPlace, seenAt?: string): Place {
  const own = ownIdentity()
  if (kernel_boot_id === own.kernel_boot_id) return 'here'
  if (host_id === undefined || own.host_id === undefined) return 'past'
  if (host_id !== own.host_id) return 'elsewhere'
  return seenAt !== undefined && isSinceBoot(Date.parse(seenAt)) ? 'elsewhere' : 'past'
}

/** A time in the future says nothing: the clock was set back. */
function isSinceBoot(atMs: number): boolean {
  const now = clock.now()
  return atMs <= now && atMs > now - uptimeMs() + RESTART_MS_MIN
}
