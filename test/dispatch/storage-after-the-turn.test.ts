/** Failures of storage when the turn is over, and damage in other agents. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { visit } from '../../src/dispatch/visit.js'
import { terminate } from '../../src/operations/terminate.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { failing, withFaults } from '../support/faults.js'
import { posted } from '../support/mail.js'
import { appendTurn, newAgent, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string

beforeEach(async () => {
  store = tempStore()
  id = await newAgent(store, { name: 'a' })
})

const options = { waitMs: 0, continuesTurn: true }
const turn = (ctx = contextAt(store).ctx): Promise<string> =>
  visit(ctx, id, options, async (session) => {
    appendTurn(session, 'hi', 'echo: hi')
    return 'done'
  })

describe('once a session is closed', () => {
  test('servers that cannot be listed do not fail the turn', async () => {
    withFaults(failing('EMFILE', ({ point }) => point === 'server.list'))
    expect(await turn()).toBe('done')
  })

  test("it is not closed again: its descriptors may be another's", async () => {
    const session = await reopen(store, id)
    await session.close(() => false)
    await session.abandon()
    expect(await turn()).toBe('done')
  })

  test('an inbox that cannot be looked at again is said, and breaks nothing', async () => {
    const { ctx, notes } = contextAt(store, { drains: true })
    posted(store, id, 'waits')
    withFaults(failing('EIO', ({ point }) => point === 'mail.stat'))
    expect(ctx.deliveries.hasWork(id)).toBe(true)
    ctx.deliveries.wake(id)
    await ctx.deliveries.untilIdle()
    expect(notes.join()).toContain('still be pending for')
  })
})

test('a delivered message whose file remains keeps the marker, so that a later command removes it', async () => {
  const message = posted(store, id, 'hello')
  withFaults(failing('EIO', ({ point }) => point === 'mail.remove'))
  const { ctx } = contextAt(store)
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  expect(openForRead(store, id)?.state.delivered).toContain(message)
  expect(store.mail.ids(id)).toContain(message)
  expect(store.visits.isMarked(id)).toBe(true)
})

describe.each([
  ['an index of its children', true],
  ['no index of its children', false],
])('an agent with %s', (_, hasIndex) => {
  test('does not end over a child that cannot be read, for that may live', async () => {
    const child = await newAgent(store, { name: 'child', parent: id })
    const session = await reopen(store, child)
    appendTurn(session, 'hi', 'echo: hi')
    await session.close(() => false)
    const bytes = readFileSync(store.local.logPath(child))
    bytes[bytes.length - 30] = 0
    writeFileSync(store.local.logPath(child), bytes)
    if (!hasIndex) rmSync(join(store.address, 'agents', id, 'children', 'complete'))
    const { ctx } = contextAt(store)
    for (const isRecursive of [true, false])
      await expect(terminate(ctx, id, isRecursive, () => undefined)).rejects.toMatchObject({
        code: 'CORRUPT',
        facts: { path: store.local.logPath(child) },
      })
    expect(openForRead(store, id)?.state.state).toBe('created')
  })
})
