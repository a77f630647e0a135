/** The derived status of an agent as it is now. */
import { type ClockReading, readClock } from '../host/identity.js'
import type { FileStore } from '../storage/store.js'
import type { State } from './state.js'
import { deriveStatus, type Status } from './status.js'

type Watched = Parameters<typeof deriveStatus>[0] & Pick<State, 'id'>

const NO_CLOCK: ClockReading = { at: '', kernel_boot_id: '', uptime_ms: 0 }

/** Looks at the lock only where it decides: whether the holder of an open run lives. */
export function statusNow(store: FileStore, state: Watched): Status {
  return deriveStatus(
    state,
    state.run?.status === 'open' && store.isAgentHeld(state.id),
    // Only a wait has a time to it.
    state.run?.wait == null ? NO_CLOCK : readClock(),
  )
}
