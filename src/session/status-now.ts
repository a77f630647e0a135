/** The current derived status of an agent. */
import { type ClockReading, readClock } from '../host/identity.js'
import type { Store } from '../storage/store.js'
import { openForRead } from './load.js'
import type { State } from './state.js'
import { deriveStatus, type Status } from './status.js'

type Watched = Parameters<typeof deriveStatus>[0] & Pick<State, 'id' | 'last_seq'>

const NO_CLOCK: ClockReading = { at: '', kernel_boot_id: '', uptime_ms: 0 }

/** Probes the lock only for an open run, whose status depends on whether its holder lives. */
export function statusNow(store: Store, state: Watched, isHeld?: boolean): Status {
  return deriveStatus(
    state,
    state.run?.status === 'open' && wasHeld(store, state, isHeld ?? store.isHeld(state.id)),
    // Only a wait depends on the time.
    state.run?.wait == null ? NO_CLOCK : readClock(),
  )
}

/**
 * Whether a process held the agent when the log had this state, or just after. The lock is probed later than the log is read: a
 * holder that ended its turn in between has left more records and a free lock, and was not interrupted.
 */
function wasHeld(store: Store, { id, last_seq }: Watched, isHeld: boolean): boolean {
  if (isHeld) return true
  const now = openForRead(store, id)?.state.last_seq
  return now !== undefined && now !== last_seq
}
