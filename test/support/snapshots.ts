import { limits } from '../../src/limits.js'
import { snapshotOf } from '../../src/session/snapshot.js'
import type { State } from '../../src/session/state.js'
import { crc32 } from '../../src/start/crc32.js'
import { frame, hexOf } from '../../src/storage/log/frame.js'
import { IntactEnd } from '../../src/storage/log/tail.js'

/** The bytes that the store writes for that state, and for a log that is known to be intact. */
export function encodeSnapshot(state: State, log?: Buffer): Buffer {
  const bytesMax = limits.logCheckedForAppendBytes
  const end = log && IntactEnd.of(log, { end: log.length, lastSeq: state.last_seq, bytesMax })
  return frame(snapshotOf(state, end))
}

/** The checksum of its end that a snapshot of that log has. */
export function endChecksum(log: Buffer): string {
  return hexOf(crc32(log.subarray(-limits.logCheckedForAppendBytes)))
}

/** The bytes that version 7 wrote for that state. */
export function encodeEarlierSnapshot(state: State): Buffer {
  const { usage: _, ...fields } = snapshotOf(state) as State
  const { last_boot_seen: __, ...recovery } = state.recovery
  return frame({ ...fields, snapshot: 7, recovery })
}
