import { expect, test } from 'vitest'
import { prune } from '../../src/operations/prune.js'
import { removeAgent } from '../../src/operations/removable.js'
import { remove } from '../../src/operations/remove.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { forged } from '../support/mail.js'
import { newAgent, terminate } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

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

test('an agent that received mail since the first check stays: the check repeats under its lock', async () => {
  const { first, ids } = await family()
  const [lowest = ''] = ids
  const state = openForRead(first, lowest)?.state as State
  forged(first, lowest, 'too late')
  await expect(removeAgent(contextAt(first).ctx, state)).rejects.toMatchObject({ code: 'SESSION_STATE' })
  expect([first.hasAgent(lowest), first.isHeld(lowest)]).toEqual([true, false])
})

test('an agent that another process holds stays and is named; prune continues with the others', async () => {
  const { first: store, lead, ids } = await family()
  const [b = ''] = ids
  const other = await store.hold(b, { command: 'somebody', waitMs: 0 })
  const { ctx } = contextAt(store)
  await expect(remove(ctx, b, false, () => undefined)).rejects.toMatchObject({ code: 'LOCKED' })
  const gone = await newAgent(store, { name: 'gone' })
  await terminate(store, gone)
  const pruned = await prune(ctx, -1, false)
  expect(pruned.removed).toEqual([{ id: gone, path: 'gone' }])
  expect(pruned.kept.map(({ why }) => why)).toEqual([
    'agent lead/a/b is held by another process',
    'it has the child lead/a/b',
    'it has the child lead/a',
  ])
  await other?.release()
  expect((await prune(ctx, -1, false)).removed.map(({ id }) => id)).toEqual(ids)
  expect(store.hasAgent(lead)).toBe(false)
})
