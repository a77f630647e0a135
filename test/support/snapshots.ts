import { snapshotOf } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { frame } from '../../src/storage/log/frame.js'

/** The bytes that the store writes for that state. */
export function encodeSnapshot(state: State): Buffer {
  return frame(snapshotOf(state))
}
