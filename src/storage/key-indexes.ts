/** The part of a store that finds idempotency keys. See `store.ts`. */
import type { KeyPlace, KeyRetention } from './log/key-entries.js'

/** Indexes of the idempotency keys of each log. They are caches. */
export interface KeyIndexes {
  isThere(agentId: string): boolean
  /** Undefined if there is no index, or it is damaged. The caller closes it. */
  open(agentId: string): KeyIndex | undefined
  /** `known`: from `KeyIndex.entries` of the old index. `added`: by the key's hash in hex. */
  write(
    end: KeyIndexEnd,
    keys: { known?: Buffer | undefined; added: ReadonlyMap<string, KeyPlace>; kept: KeyRetention },
  ): void
  /** The undamaged parts of the index. */
  salvage(agentId: string): SalvagedKeys
}

/** The last record that an index covers. */
export interface KeyIndexEnd {
  agent_id: string
  last_seq: number
  last_offset: number
  log_bytes: number
  /** The checksum of that record. */
  record_crc: string
}

export interface KeyIndex {
  readonly end: KeyIndexEnd
  /** Whether NFC forms are indexed. Otherwise a miss proves nothing about a key recorded in another form. */
  readonly isByForm: boolean
  /** By the SHA-256 of the key. Undefined if the index is damaged there. */
  find(hash: Buffer): { place: KeyPlace | undefined } | undefined
  /** Entries that differ from the keys in the log. Undefined if the index is damaged. */
  differences(places: ReadonlyMap<string, KeyPlace>, kept: KeyRetention): KeyDifference[] | undefined
  /** All entries, in the form that `write` takes. Undefined if the index is damaged. */
  entries(): Buffer | undefined
  close(): void
}

export interface KeyDifference {
  expected: KeyPlace
  found: KeyPlace | undefined
}

export interface SalvagedKeys {
  readonly hasGaps: boolean
  /** The last record that the index covers. The largest integer if that is lost. */
  readonly last_seq: number
  /** The place of each remaining key, by the key's hash in hex. */
  places(): Generator<[hash: string, place: KeyPlace]>
  /** Upper bound of the lost keys, without those in `known` (hashes in hex). */
  lostBeside(known: string[]): number
}
