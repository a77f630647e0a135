/** The end of agents: no child is created below an agent while it ends. */
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { terminate } from '../../src/operations/terminate.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { lockChildren } from '../../src/tree/children.js'
import { contextAt } from '../support/contexts.js'
import { countLockTries } from '../support/faults.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const stateOf = (store: FileStore, id: string): string | undefined => openForRead(store, id)?.state.state

function ended(store: FileStore, id: string, isRecursive: boolean): Promise<string[]> {
  const paths: string[] = []
  const { ctx } = contextAt(store, { drains: false, bounds: { waitMs: 3_600_000 } })
  return terminate(ctx, id, isRecursive, ({ path }) => paths.push(path)).then(() => paths)
}

test('an agent does not end while a child is created below it', async () => {
  const store = tempStore()
  const lead = await newAgent(store, { name: 'lead' })
  const { lock } = await lockChildren(store, lead, 'a spawn')
  const tries = countLockTries()
  const end = ended(store, lead, false)
  await waitFor(() => tries() > 3, 'it to ask for the lock')
  expect(stateOf(store, lead)).toBe('created')
  await lock.release()
  expect(await end).toEqual(['lead'])
  expect(stateOf(store, lead)).toBe('terminated')
})

test('a child that is born in between keeps its parent alive; with --recursive it ends too', async () => {
  const store = tempStore()
  const lead = await newAgent(store, { name: 'lead' })
  const { lock } = await lockChildren(store, lead, 'a spawn')
  const tries = countLockTries()
  const end = ended(store, lead, false)
  const all = ended(store, lead, true)
  await waitFor(() => tries() > 5, 'both to ask for the lock')
  await lock.release()
  // It takes the lock when it is free, as the two others would.
  const child = await newAgent(store, { name: 'child', parent: lead }).catch(() => undefined)
  const [one] = await Promise.allSettled([end, all])
  if (child !== undefined && one.status === 'rejected')
    expect(one.reason).toMatchObject({ code: 'HAS_CHILDREN' })
  expect(stateOf(store, lead)).toBe('terminated')
  if (child !== undefined) expect(stateOf(store, child)).toBe('terminated')
  expect(checkHome(store, { isRecovered: true })).toEqual([])
})
