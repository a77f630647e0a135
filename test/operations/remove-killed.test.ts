/** Agents taken away, step by step: a kill leaves each of them whole or gone, and the next call does the rest. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { prune } from '../../src/operations/prune.js'
import { remove } from '../../src/operations/remove.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { copyOf, killedAt } from '../support/killed.js'
import { newAgent, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

/** Most steps are syncs, and each try makes them all: every step takes a minute on a slow disk. */
const STRIDE = 3

/** `lead`, `lead/a`, `lead/a/b`, all terminated; and `solo`, which lives. */
async function family(): Promise<{ first: FileStore; lead: string; ids: string[] }> {
  const first = tempStore()
  const lead = await newAgent(first, { name: 'lead' })
  const a = await newAgent(first, { name: 'a', parent: lead })
  const b = await newAgent(first, { name: 'b', parent: a })
  await newAgent(first, { name: 'solo' })
  for (const id of [b, a, lead]) await terminate(first, id)
  return { first, lead, ids: [b, a, lead] }
}

test.each(['remove', 'prune'])(
  '%s killed at step after step leaves each agent whole or gone',
  async (command) => {
    const { first, lead, ids } = await family()
    for (let step = 1; ; step += STRIDE) {
      const dying = copyOf(first)
      const told: string[] = []
      const work = (store: FileStore, onRemoved: (id: string) => void): Promise<unknown> => {
        const { ctx } = contextAt(store)
        return command === 'remove'
          ? remove(ctx, lead, true, ({ id }) => onRemoved(id))
          : prune(ctx, -1, false)
      }
      const died = await killedAt(step, () => work(dying, (id) => told.push(id)))
      const store = copyOf(dying)
      const at = `killed at step ${step}`
      for (const id of told) expect(store.hasAgent(id), at).toBe(false)
      // The lowest go first: the parent of each remaining agent exists.
      const there = ids.map((id) => store.hasAgent(id))
      expect(there, at).toEqual([...there].sort())
      expect(checkHome(store, { isRecovered: false }), at).toEqual([])
      if (store.hasAgent(lead)) await work(store, () => undefined)
      store.visits.sweep()
      expect(readdirSync(join(store.address, 'agents')), at).toHaveLength(1)
      for (const id of store.visits.markedIds()) store.visits.unmark(id, () => store.hasAgent(id))
      expect(store.visits.markedIds(), at).toEqual([])
      expect(checkHome(store, { isRecovered: true }), at).toEqual([])
      if (!died) return
    }
  },
)
