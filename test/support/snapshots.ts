import { snapshotOf } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { frame } from '../../src/storage/log/frame.js'

/** The bytes that the store writes for that state. */
export function encodeSnapshot(state: State): Buffer {
  return frame(snapshotOf(state))
}

/** The bytes that version 7 wrote for that state. */
export function encodeEarlierSnapshot(state: State): Buffer {
  const { usage: _, ...fields } = snapshotOf(state) as State
  const { last_boot_seen: __, ...recovery } = state.recovery
  return frame({ ...fields, snapshot: 7, recovery })
}
