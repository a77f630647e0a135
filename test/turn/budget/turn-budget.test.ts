/** Holds from the accounts of agents, of the agents above them, and of the home. */
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HOME_ACCOUNT } from '../../../src/format.js'
import { openForAppend } from '../../../src/session/session.js'
import { removedAgentOf } from '../../../src/session/usage-sums.js'
import { TurnBudget } from '../../../src/turn/budget/turn-budget.js'
import { tempStore } from '../../support/temp.js'
import { agent, answer, ask, left, restoreClock, rules, setClock, tokens } from './support.js'

describe('a request', () => {
  test('without a cap over its agent holds nothing and reads no account', async () => {
    const store = tempStore()
    const session = await agent(store)
    expect(TurnBudget.of(session, rules(), 'test')).toBeUndefined()
    expect(store.accounts.isUsed).toBe(false)
    await session.abandon()
  })

  test('is refused once the cap is reached, and the message says how', async () => {
    const store = tempStore()
    const session = await agent(store, tokens(100))
    expect((await ask(session, 60)).type).toBe('held')
    await answer(session, 50)
    expect(await ask(session, 60)).toMatchObject({
      type: 'over',
      notBefore: null,
      why: expect.stringContaining('tokens=100: 50 tokens used, and the next request may use 60 tokens'),
    })
    expect((await ask(session, 50)).type).toBe('held')
    await session.abandon()
  })

  test('waits for running requests that may use less than they hold', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const [a, b] = [await agent(store, [], lead.id), await agent(store, [], lead.id)]
    expect((await ask(a, 80)).type).toBe('held')
    expect((await ask(b, 30)).type).toBe('busy')
    await answer(a, 10)
    expect((await ask(b, 30)).type).toBe('held')
    for (const session of [lead, a, b]) await session.abandon()
  })

  test('does not wait for a request of the agent above it', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const child = await agent(store, [], lead.id)
    expect((await ask(lead, 80)).type).toBe('held')
    expect((await ask(child, 30)).type).toBe('over')
    for (const session of [lead, child]) await session.abandon()
  })

  test('counts in every account over its agent', async () => {
    const store = tempStore()
    const home = tokens(1000)
    const lead = await agent(store, tokens(500))
    const middle = await agent(store, [], lead.id)
    const child = await agent(store, tokens(200), middle.id)
    await ask(child, 60, home)
    await answer(child, 40, home)
    expect([left(store, HOME_ACCOUNT, home), left(store, lead.id, tokens(500))]).toEqual([960, 460])
    expect(left(store, child.id, tokens(200))).toBe(160)
    for (const session of [lead, middle, child]) await session.abandon()
  })

  test('is smaller if less is left', async () => {
    const store = tempStore()
    const session = await agent(store, tokens(100))
    const budget = TurnBudget.of(session, rules(), 'test') as TurnBudget
    const wanted = { runId: randomUUID(), isNewTurn: true, tokens: 500, tokensMin: 80 }
    expect(await budget.reserve(wanted)).toMatchObject({ type: 'held', record: { amounts: { tokens: 100 } } })
    expect((await budget.reserve({ ...wanted, tokensMin: 101 })).type).toBe('over')
    await session.abandon()
  })
})

test('a grant of one agent is of no use to another one', async () => {
  const store = tempStore()
  const lead = await agent(store, tokens(100))
  const [a, b] = [await agent(store, [], lead.id), await agent(store, [], lead.id)]
  await ask(a, 60)
  await answer(a, 60)
  a.append([
    { kind: 'budget.granted', run_id: a.state.run?.run_id as string, amounts: { tokens: 500 }, windows: {} },
  ])
  await TurnBudget.of(a, rules(), 'test')?.publish()
  expect((await ask(b, 101)).type).toBe('over')
  expect((await ask(a, 530)).type).toBe('held')
  for (const session of [lead, a, b]) await session.abandon()
})

describe('a process that dies', () => {
  test('before its record leaves an entry that refuses no other agent', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const [a, b] = [await agent(store, [], lead.id), await agent(store, [], lead.id)]
    const budget = TurnBudget.of(a, rules(), 'test') as TurnBudget
    await budget.reserve({ runId: randomUUID(), isNewTurn: true, tokens: 90 })
    expect((await ask(b, 50)).type).toBe('busy')
    await a.abandon()
    expect((await ask(b, 50)).type).toBe('held')
    for (const session of [lead, b]) await session.abandon()
  })

  test('after its record leaves a hold that is spent', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const [a, b] = [await agent(store, [], lead.id), await agent(store, [], lead.id)]
    await ask(a, 90)
    await a.abandon()
    expect((await ask(b, 50)).type).toBe('over')
    expect((await ask(b, 10)).type).toBe('held')
    for (const session of [lead, b]) await session.abandon()
  })

  test('after its answer leaves an entry that is read from its log', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const [a, b] = [await agent(store, [], lead.id), await agent(store, [], lead.id)]
    await ask(a, 90)
    const run_id = a.state.run?.run_id as string
    const usage = { input_tokens: 5, output_tokens: 0 }
    a.append([
      { kind: 'message.agent', message_id: randomUUID(), run_id, content: 'done' },
      { kind: 'model.responded', run_id, stop: 'end', usage },
    ])
    await a.abandon()
    expect((await ask(b, 90)).type).toBe('held')
    for (const session of [lead, b]) await session.abandon()
  })
})

describe('an account', () => {
  test('that is damaged, or of another boot, is rebuilt from the logs', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const child = await agent(store, [], lead.id)
    await ask(child, 60)
    await answer(child, 40)
    const file = join(store.address, 'budgets', lead.id)
    for (const bytes of ['', 'x'.repeat(3000), `{"boot":"other","crc":"00000000"}\n`]) {
      writeFileSync(file, bytes)
      expect(left(store, lead.id, tokens(100))).toBe(60)
      expect((await ask(lead, 70)).type).toBe('over')
    }
    for (const session of [lead, child]) await session.abandon()
  })

  test('has the use of agents that were removed', async () => {
    const store = tempStore()
    const lead = await agent(store, tokens(100))
    const child = await agent(store, [], lead.id)
    await ask(child, 60)
    await answer(child, 40)
    store.removed.put(removedAgentOf(store, child.state, new Date().toISOString()))
    await child.abandon()
    const right = await store.hold(child.id, { command: 'test', waitMs: 0 })
    if (right === undefined) throw new Error('the child is free')
    store.remove(child.id, right)
    expect(left(store, lead.id, tokens(100))).toBe(60)
    writeFileSync(join(store.address, 'budgets', lead.id), '')
    expect(left(store, lead.id, tokens(100))).toBe(60)
    await lead.abandon()
  })

  test('refills once in each window, also if the clock is set back', async () => {
    restoreClock()
    const store = tempStore()
    setClock('2026-11-29T10:30:00Z')
    const session = await agent(store, tokens(100, 'hour'))
    await ask(session, 90)
    await answer(session, 90)
    expect(await ask(session, 50)).toMatchObject({ type: 'over', notBefore: '2026-11-29T11:00:00.000Z' })
    setClock('2026-11-29T11:00:01Z')
    expect((await ask(session, 50)).type).toBe('held')
    await answer(session, 90)
    setClock('2026-11-29T10:59:00Z')
    expect(await ask(session, 50)).toMatchObject({ type: 'over', notBefore: '2026-11-29T12:00:00.000Z' })
    setClock('2026-11-29T11:30:00Z')
    expect((await ask(session, 50)).type).toBe('over')
    await session.abandon()
  })
})

test('many agents side by side never hold more than the cap', async () => {
  const store = tempStore()
  const lead = await agent(store, tokens(1000))
  const children = await Promise.all(Array.from({ length: 20 }, () => agent(store, [], lead.id)))
  const asked = await Promise.all(children.map((child) => ask(child, 99)))
  expect(asked.filter(({ type }) => type === 'held')).toHaveLength(10)
  expect(left(store, lead.id, tokens(1000))).toBe(10)
  for (const session of [lead, ...children]) await session.abandon()
})

test('a session that is opened again keeps its count', async () => {
  const store = tempStore()
  const session = await agent(store, tokens(100))
  await ask(session, 60)
  await answer(session, 40)
  await session.close(() => false)
  const again = await openForAppend(store, session.id, { command: 'test', waitMs: 0 })
  expect((await ask(again, 61)).type).toBe('over')
  expect((await ask(again, 60)).type).toBe('held')
  await again.abandon()
})
