/** What an open log can be asked. */
import type { JsonObject } from '../../format.js'
import {
  checksumAt,
  type LogBytes,
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
import { isWholeBefore, type SyncedEnd } from './tail.js'

export abstract class LogReader implements LogBytes {
  abstract readonly path: string
  abstract size(): number
  abstract read(from: number, to: number): Buffer

  /** Whole batches to the end of the log; then where it ends, and what is damaged there. */
  batches(start: ScanStart): Generator<LoggedRecord[], ScanEnd> {
    return scanLog(this, start)
  }

  /** In `[from, to)`, all of which is known to be synced: other records are checked and not parsed. */
  recordsOfKinds(
    from: ScanStart,
    to: number,
    kinds: string[],
  ): Generator<LoggedRecord, LogDamage | undefined> {
    return scanForKinds(this, from, to, kinds)
  }

  /** The records before `to`, which is known to be whole, whose lines have that text in them. */
  recordsWith(text: string, to: number): Generator<JsonObject> {
    return recordsWith(this, text, to)
  }

  /** From the last record to the first, without those that do not check. */
  recordsFromEnd(): Generator<{ record: JsonObject; offset: number }> {
    return recordsFromEnd(this)
  }

  /** Every record behind `from` that checks, in and between what is damaged. */
  salvage(from: number): Generator<JsonObject> {
    return salvage(this, from)
  }

  /** Undefined where no record that checks begins and ends there. */
  recordAt(offset: number, end: number): JsonObject | undefined {
    return readRecordAt(this, offset, end)
  }

  /** Of record `seq`, whose line is at that place; undefined where it is not there. */
  checksumAt(seq: number, offset: number, end: number): string | undefined {
    return checksumAt(this, seq, offset, end)
  }

  isWholeBefore(end: SyncedEnd): boolean {
    return isWholeBefore(this, end)
  }
}
