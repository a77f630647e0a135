import {
  eachEntry,
  findEntry,
  forgetOld,
  type KeyPlace,
  type KeyRetention,
  mergeEntries,
} from '../../../src/storage/log/key-entries.js'
import type {
  KeyDifference,
  KeyIndex,
  KeyIndexEnd,
  KeyIndexes,
  SalvagedKeys,
} from '../../../src/storage/store.js'
import type { MemoryHome } from './memory-home.js'

export class MemoryKeys implements KeyIndexes {
  constructor(private readonly home: MemoryHome) {}

  isThere(agentId: string): boolean {
    return this.home.agents.get(agentId)?.keys !== undefined
  }

  open(agentId: string): KeyIndex | undefined {
    const keys = this.home.agents.get(agentId)?.keys
    return keys === undefined ? undefined : new MemoryKeyIndex(keys.end, keys.entries)
  }

  write(
    end: KeyIndexEnd,
    { known = Buffer.alloc(0), added, kept }: Parameters<KeyIndexes['write']>[1],
  ): void {
    const agent = this.home.agents.get(end.agent_id)
    if (agent !== undefined) agent.keys = { end, entries: forgetOld(mergeEntries(known, added), kept) }
  }

  salvage(agentId: string): SalvagedKeys {
    const keys = this.home.agents.get(agentId)?.keys
    return {
      hasGaps: false,
      last_seq: keys?.end.last_seq ?? Number.MAX_SAFE_INTEGER,
      places: () => eachEntry(keys?.entries ?? Buffer.alloc(0)),
      lostBeside: () => 0,
    }
  }
}

class MemoryKeyIndex implements KeyIndex {
  readonly isByForm = true

  constructor(
    readonly end: KeyIndexEnd,
    private readonly all: Buffer,
  ) {}

  find(hash: Buffer): { place: KeyPlace | undefined } {
    return { place: findEntry(this.all, hash) }
  }

  differences(places: ReadonlyMap<string, KeyPlace>, kept: KeyRetention): KeyDifference[] {
    const expected = forgetOld(mergeEntries(Buffer.alloc(0), places), kept)
    return [...eachEntry(expected)].flatMap(([hash, place]) => {
      const found = findEntry(this.all, Buffer.from(hash, 'hex'))
      return found?.seq === place.seq ? [] : [{ expected: place, found }]
    })
  }

  entries(): Buffer {
    return this.all
  }

  close(): void {}
}
