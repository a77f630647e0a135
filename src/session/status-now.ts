/** The current derived status of an agent. */
import { type ClockReading, readClock } from '../host/identity.js'
import type { Store } from '../storage/store.js'
import type { State } from './state.js'
import { deriveStatus, type Status } from './status.js'

type Watched = Parameters<typeof deriveStatus>[0] & Pick<State, 'id'>

const NO_CLOCK: ClockReading = { at: '', kernel_boot_id: '', uptime_ms: 0 }

/** Probes the lock only for an open run, whose status depends on whether its holder lives. */
export function statusNow(store: Store, state: Watched, isHeld?: boolean): Status {
  return deriveStatus(
    state,
    state.run?.status === 'open' && (isHeld ?? store.isHeld(state.id)),
    // Only a wait depends on the time.
    state.run?.wait == null ? NO_CLOCK : readClock(),
  )
}
