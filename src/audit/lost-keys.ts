/**
 * Keys of messages that a damaged log has lost: what the key index still has of them, page by page, so that none counts as
 * new. A page that does not check loses its own keys alone, and of these only those that no record has.
 */
import { SubstratError } from '../errors.js'
import { KEY_HASH_BYTES } from '../format.js'
import { keyHashesIn } from '../session/key-hashes.js'
import { placesInLog } from '../session/key-places.js'
import type { SessionRecord } from '../session/records.js'
import type { FileStore, LogReader, SalvagedKeys } from '../storage/store.js'

export type RebuiltRecord = SessionRecord & { kind: 'session.rebuilt' }

export class LostKeys {
  private readonly index: SalvagedKeys
  private unreadable = 0

  constructor(
    private readonly store: FileStore,
    private readonly agentId: string,
  ) {
    this.index = store.keys.salvage(agentId)
  }

  /** By their hashes, latest last: those whose record is behind `seq`. */
  hashesAfter(seq: number): string[] {
    const lost = [...this.index.places()].filter(([, place]) => place.seq > seq)
    return lost.sort(([, a], [, b]) => a.seq - b.seq).map(([hash]) => hash)
  }

  /** What an earlier rebuild has carried over. Where its blob is gone, the hashes in its line are left. */
  carriedBy(record: RebuiltRecord): string[] {
    try {
      return keyHashesIn(this.store, this.agentId, record)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.unreadable += (record.more_key_hashes?.bytes ?? 0) / KEY_HASH_BYTES
      return record.key_hashes ?? []
    }
  }

  /** How many are known from nowhere, at most. `known`: the hash of each key that a record has, and the seq of that. */
  count(known: ReadonlyMap<string, number>): number {
    const hashes = [...known].filter(([, seq]) => seq <= this.index.last_seq).map(([hash]) => hash)
    return this.unreadable + this.index.lostBeside(hashes)
  }

  /** The keys of the whole part of the log, as `count` takes them. */
  knownTo(log: LogReader | undefined, to: number): Map<string, number> {
    if (log === undefined || !this.index.hasGaps) return new Map()
    try {
      const places = placesInLog(this.store, this.agentId, log, to)
      return new Map([...places].map(([hash, { seq }]) => [hash, seq]))
    } catch (error) {
      if (isDamage(error)) return new Map()
      throw error
    }
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'CORRUPT'
}
