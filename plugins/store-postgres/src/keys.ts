import type { KeyIndex, KeyIndexEnd, KeyIndexes, KeyPlace, KeyRetention } from 'substrat/store'
import { bytesOf } from './client.js'
import { call, type Shared } from './rights.js'

/** The database checks its pages, so an index is whole or missing. */
export function keysOf(shared: Shared): KeyIndexes {
  const { eachEntry, findEntry, forgetOld, mergeEntries } = shared.kit
  const stored = (agentId: string): { end: KeyIndexEnd; all: Buffer } | undefined => {
    const [row] = call(shared, agentId, (client) => client.read('keys', agentId))
    return row === undefined ? undefined : { end: row.log_end as KeyIndexEnd, all: bytesOf(row.entries) }
  }
  const expectedOf = (places: ReadonlyMap<string, KeyPlace>, kept: KeyRetention): Buffer =>
    forgetOld(mergeEntries(Buffer.alloc(0), places), kept)
  const openIndex = ({ end, all }: { end: KeyIndexEnd; all: Buffer }): KeyIndex => ({
    end,
    isByForm: true,
    find: (hash) => ({ place: findEntry(all, hash) }),
    differences: (places, kept) =>
      [...eachEntry(expectedOf(places, kept))].flatMap(([hash, expected]) => {
        const found = findEntry(all, Buffer.from(hash, 'hex'))
        return found?.seq === expected.seq ? [] : [{ expected, found }]
      }),
    entries: () => all,
    close: () => undefined,
  })
  return {
    isThere: (agentId) => stored(agentId) !== undefined,
    open: (agentId) => {
      const index = stored(agentId)
      return index === undefined ? undefined : openIndex(index)
    },
    write: (end, { known = Buffer.alloc(0), added, kept }) => {
      const entries = forgetOld(mergeEntries(known, added), kept)
      call(shared, end.agent_id, (client) => client.call('write_keys', [end.agent_id, end, entries]))
    },
    salvage: (agentId) => {
      const index = stored(agentId)
      return {
        hasGaps: false,
        last_seq: index?.end.last_seq ?? Number.MAX_SAFE_INTEGER,
        places: () => eachEntry(index?.all ?? Buffer.alloc(0)),
        lostBeside: () => 0,
      }
    },
  }
}
