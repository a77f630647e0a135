/**
 * Recovers from the key index the keys that a damaged log has lost, so that none of them counts as new. A damaged page loses
 * only its own keys, and of those only the keys that no record has.
 */
import { SubstratError } from '../errors.js'
import { KEY_HASH_BYTES } from '../format.js'
import { keyHashesIn } from '../session/key-hashes.js'
import { placesInLog } from '../session/key-places.js'
import type { SessionRecord } from '../session/records.js'
import type { LogReader, SalvagedKeys, Store } from '../storage/store.js'

export type RebuiltRecord = SessionRecord & { kind: 'session.rebuilt' }

export class LostKeys {
  private readonly index: SalvagedKeys
  private unreadable = 0

  constructor(
    private readonly store: Store,
    private readonly agentId: string,
  ) {
    this.index = store.keys.salvage(agentId)
  }

  /** Hashes of the keys whose record is after `seq`, latest last. */
  hashesAfter(seq: number): string[] {
    const lost = [...this.index.places()].filter(([, place]) => place.seq > seq)
    return lost.sort(([, a], [, b]) => a.seq - b.seq).map(([hash]) => hash)
  }

  /** Hashes that an earlier rebuild has carried over. Without its blob, only the hashes in its line. */
  carriedBy(record: RebuiltRecord): string[] {
    try {
      return keyHashesIn(this.store, this.agentId, record)
    } catch (error) {
      if (!isDamage(error)) throw error
      this.unreadable += (record.more_key_hashes?.bytes ?? 0) / KEY_HASH_BYTES
      return record.key_hashes ?? []
    }
  }

  /** Upper bound of the keys that are lost. `known`: the hash of each key that a record has, and the record's seq. */
  count(known: ReadonlyMap<string, number>): number {
    const hashes = [...known].filter(([, seq]) => seq <= this.index.last_seq).map(([hash]) => hash)
    return this.unreadable + this.index.lostBeside(hashes)
  }

  /** The keys of the undamaged part of the log, in the form that `count` needs. */
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
