/** The derived status of an agent as it is now. */
import { timestampAfter } from '../clock.js'
import type { FileStore } from '../storage/store.js'
import type { State } from './state.js'
import { deriveStatus, type Status } from './status.js'

type Watched = Parameters<typeof deriveStatus>[0] & Pick<State, 'id' | 'updated_at'>

/** Looks at the lock only where it decides: whether the holder of an open run lives. */
export function statusNow(store: FileStore, state: Watched): Status {
  return deriveStatus(
    state,
    state.run?.status === 'open' && store.isAgentHeld(state.id),
    // Only a wait has a time to it.
    state.run?.wait == null ? '' : timestampAfter(state.updated_at),
  )
}
