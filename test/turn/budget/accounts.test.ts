/** Accounts that are missing, too old, damaged or copied are rebuilt from the logs, and never taken as empty. */
import { randomUUID } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HOME_ACCOUNT } from '../../../src/format.js'
import type { Session } from '../../../src/session/session.js'
import { removedAgentOf } from '../../../src/session/usage-sums.js'
import type { Store } from '../../../src/storage/store.js'
import { TurnBudget } from '../../../src/turn/budget/turn-budget.js'
import { tempStore } from '../../support/temp.js'
import { agent, answer, ask, left, rules, tokens } from './support.js'

const CAP = tokens(100)
const file = (store: Store, id: string): string => join(store.address, 'budgets', id)

/** A capped agent, and two agents below it at different depths. The first one has used 60 of 100 tokens. */
async function family(store: Store): Promise<[lead: Session, used: Session, unused: Session]> {
  const lead = await agent(store, CAP)
  const middle = await agent(store, [], lead.id)
  const [used, unused] = [await agent(store, [], middle.id), await agent(store, [], middle.id)]
  await middle.abandon()
  await ask(used, 60)
  await answer(used, 60)
  return [lead, used, unused]
}

describe('with the directory of the accounts deleted', () => {
  test('an agent that was never used is under the caps above it', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    rmSync(join(store.address, 'budgets'), { recursive: true })
    expect((await ask(unused, 41)).type).toBe('over')
    expect((await ask(unused, 40)).type).toBe('held')
    for (const session of [lead, used, unused]) await session.abandon()
  })

  test('an agent that was used goes on under them', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    rmSync(join(store.address, 'budgets'), { recursive: true })
    expect((await ask(used, 41)).type).toBe('over')
    expect((await ask(used, 40)).type).toBe('held')
    expect((await ask(unused, 1)).type).not.toBe('held')
    for (const session of [lead, used, unused]) await session.abandon()
  })

  test('the home counts what the logs have', async () => {
    const store = tempStore()
    const [a, b] = [await agent(store), await agent(store)]
    await ask(a, 60, CAP)
    await answer(a, 60, CAP)
    rmSync(join(store.address, 'budgets'), { recursive: true })
    expect((await ask(b, 41, CAP)).type).toBe('over')
    expect((await ask(b, 40, CAP)).type).toBe('held')
    for (const session of [a, b]) await session.abandon()
  })
})

describe('an account', () => {
  test('counts what was used between the removal of its caps and their return', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    const home = tokens(1000)
    lead.append([{ kind: 'session.configured', budget: [] }])
    await ask(used, 30, home)
    await answer(used, 30, home)
    store.accounts?.open(lead.id)
    lead.append([{ kind: 'session.configured', budget: CAP }])
    expect((await ask(unused, 11)).type).toBe('over')
    expect((await ask(unused, 10)).type).toBe('held')
    for (const session of [lead, used, unused]) await session.abandon()
  })

  test('that ends early, at any cell, is not trusted', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    await ask(unused, 30)
    await answer(unused, 30)
    const path = file(store, lead.id)
    for (const cells of [0, 1, 2]) {
      truncateSync(path, cells * 1024)
      expect(store.accounts?.read(lead.id).isTrusted).toBe(false)
      expect((await ask(lead, 11)).type).toBe('over')
      expect(store.accounts?.read(lead.id).isTrusted).toBe(true)
    }
    for (const session of [lead, used, unused]) await session.abandon()
  })

  test('that is an older copy is not trusted', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    const [path, copy] = [file(store, lead.id), join(store.address, 'copy')]
    copyFileSync(path, copy)
    await ask(used, 35)
    await answer(used, 35)
    copyFileSync(path, `${copy}.now`)
    rmSync(path)
    // The first inode is free now, and a file of another name takes it.
    writeFileSync(`${copy}.other`, '')
    copyFileSync(copy, path)
    expect((await ask(unused, 6)).type).toBe('over')
    for (const each of readdirSync(store.address).filter((name) => name.startsWith('copy')))
      rmSync(join(store.address, each))
    for (const session of [lead, used, unused]) await session.abandon()
  })

  test('counts the last known use of an agent whose log is damaged', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    await used.close(() => false)
    writeFileSync(join(store.address, 'agents', used.id, 'events.jsonl'), 'damaged\n')
    rmSync(file(store, lead.id))
    expect((await ask(unused, 41)).type).toBe('over')
    expect((await ask(unused, 40)).type).toBe('held')
    for (const session of [lead, unused]) await session.abandon()
  })

  test('is refused if nothing says what an agent with a damaged log has used', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    await used.abandon()
    const directory = join(store.address, 'agents', used.id)
    const log = join(directory, 'events.jsonl')
    const [first, , ...rest] = readFileSync(log, 'utf8').split('\n')
    rmSync(join(directory, 'session.json'), { force: true })
    writeFileSync(log, [first, 'damaged', ...rest].join('\n'))
    rmSync(file(store, lead.id))
    await expect(ask(unused, 1)).rejects.toMatchObject({
      code: 'CORRUPT',
      hint: expect.stringContaining(`substrat doctor ${used.id}`),
    })
    for (const session of [lead, unused]) await session.abandon()
  })

  test('keeps the open hold of an agent that is removed', async () => {
    const store = tempStore()
    const [lead, used, unused] = await family(store)
    await ask(unused, 30)
    const { id, state } = unused
    await unused.abandon()
    store.removed.put(removedAgentOf(store, state, new Date().toISOString()))
    const right = await store.hold(id, { command: 'test', waitMs: 0 })
    if (right === undefined) throw new Error('the agent is free')
    store.remove(id, right)
    expect((await ask(used, 11)).type).toBe('over')
    rmSync(file(store, lead.id))
    expect((await ask(used, 11)).type).toBe('over')
    expect(left(store, lead.id, CAP)).toBe(10)
    for (const session of [lead, used]) await session.abandon()
  })
})

test('a cap that is reached refuses a request whose hold is nothing', async () => {
  const store = tempStore()
  const session = await agent(store, [{ unit: 'usd', max: 1 }])
  const run_id = randomUUID()
  session.append([
    { kind: 'budget.granted', run_id, amounts: { usd: 0 }, windows: {} },
    { kind: 'budget.held', run_id, amounts: { usd: 1, requests: 1 }, windows: {} },
  ])
  const budget = TurnBudget.of(session, rules(), 'test') as TurnBudget
  expect((await budget.reserve({ runId: run_id, isNewTurn: true, tokens: 5 })).type).toBe('over')
  await session.abandon()
})

test('a request waits for no account of the home without caps there', async () => {
  const store = tempStore()
  const session = await agent(store, CAP)
  await ask(session, 5)
  expect(readdirSync(join(store.address, 'budgets'))).not.toContain(HOME_ACCOUNT)
  await session.abandon()
})
