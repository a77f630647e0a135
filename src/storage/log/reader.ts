/** Reads an open log. */
import type { JsonObject } from '../../format.js'
import type { LogBytes } from './lines.js'
import {
  checksumAt,
  type LogDamage,
  type LoggedRecord,
  readRecordAt,
  recordsFromEnd,
  recordsWith,
  type ScanEnd,
  type ScanStart,
  salvage,
  scanForKinds,
  scanLog,
} from './scan.js'
import { type IntactEnd, intactEnd, type SyncedEnd } from './tail.js'

export abstract class LogReader implements LogBytes {
  abstract readonly path: string
  abstract size(): number
  abstract read(from: number, to: number): Buffer

  /** Yields whole batches to the end of the log, and returns that end and any damage there. */
  batches(start: ScanStart): Generator<LoggedRecord[], ScanEnd> {
    return scanLog(this, start)
  }

  /** Records of some kinds in `[from, to)`, which must be fsynced. Checks other records but does not parse them. */
  recordsOfKinds(
    from: ScanStart,
    to: number,
    kinds: readonly string[],
  ): Generator<LoggedRecord, LogDamage | undefined> {
    return scanForKinds(this, from, to, kinds)
  }

  /** Records before `to` whose lines contain that text. The log before `to` must be whole. */
  recordsWith(text: string, to: number): Generator<JsonObject> {
    return recordsWith(this, text, to)
  }

  /** Records from last to first. Leaves out damaged ones. */
  recordsFromEnd(): Generator<{ record: JsonObject; offset: number }> {
    return recordsFromEnd(this)
  }

  /** Every undamaged record after `from`, also between damaged ones. */
  salvage(from: number): Generator<JsonObject> {
    return salvage(this, from)
  }

  /** Undefined unless an undamaged record begins and ends there. */
  recordAt(offset: number, end: number): JsonObject | undefined {
    return readRecordAt(this, offset, end)
  }

  /** The checksum of record `seq`. Undefined unless its line begins and ends there. */
  checksumAt(seq: number, offset: number, end: number): string | undefined {
    return checksumAt(this, seq, offset, end)
  }

  /** Undefined if the log is damaged shortly before that end. */
  intactEnd(synced: SyncedEnd): IntactEnd | undefined {
    return intactEnd(this, synced)
  }
}
