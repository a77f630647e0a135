import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { Visit } from '../../src/dispatch/own-visit.js'
import { runUntil } from '../../src/dispatch/run-until.js'
import { TurnBudget } from '../../src/dispatch/turn-budget.js'
import { deliveryWaitMs } from '../../src/dispatch/visit.js'
import { limits } from '../../src/limits.js'
import { deliver } from '../../src/operations/deliver.js'
import { openForRead } from '../../src/session/load.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Run, State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { mintToken, waitRecords } from '../../src/turn/tokens.js'
import { contextAt } from '../support/contexts.js'
import { withFaults } from '../support/faults.js'
import { posted } from '../support/mail.js'
import { beginning, newAgent, newSession, recordsOf } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State
const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }

/** Each of its turns takes until there is a file `go` in the workspace. */
async function slowAgent(store: FileStore, workspace = tempDirectory()): Promise<string> {
  const responses = [{ after_file: 'go', say: 'slow' }]
  writeFileSync(path.join(workspace, 's.json'), JSON.stringify({ responses }))
  return newAgent(store, { workspace, options: { scenario: 's.json' } })
}

/** Its turn waits for approval. */
async function parkedAgent(store: FileStore): Promise<string> {
  const session = await newSession(store)
  const run_id = randomUUID()
  const { token } = mintToken('2999-01-01T00:00:00.000Z')
  session.append(beginning(session, run_id, 'go'))
  session.append([
    ...waitRecords(run_id, 'approval', token, []),
    { kind: 'session.suspended', reason: 'idle' },
  ])
  await session.close(() => true)
  return session.id
}

test('turns side by side spend from one budget, and an agent that came too late for it is named', async () => {
  const store = tempStore()
  const { ctx, notes } = contextAt(store, { bounds, turnsMax: 1 })
  const workspace = tempDirectory()
  const ids = [await slowAgent(store, workspace), await slowAgent(store, workspace)]
  for (const id of ids) posted(store, id, 'hi')
  for (const id of ids) ctx.deliveries.wake(id)
  await waitFor(() => ids.some((id) => stateOf(store, id).run?.status === 'open'), 'the one turn')
  writeFileSync(path.join(workspace, 'go'), '')
  await ctx.deliveries.untilIdle()
  const [left, ...others] = ids.filter((id) => store.mail.ids(id).length === 1)
  expect(others).toEqual([])
  expect(notes.at(-1)).toBe(
    `messages are still pending for agent ${left}; deliver them: substrat deliver --all`,
  )
})

test('a command runs 100 turns for mail at most, unless it has another bound', () => {
  expect(contextAt(tempStore()).ctx.deliveries).toHaveProperty('budget.left', 100)
})

test('a command runs as many turns for mail as it may, and names the rest, which deliver runs', async () => {
  const store = tempStore()
  const [a, b] = [await newAgent(store, { name: 'a' }), await newAgent(store, { name: 'b' })]
  // Each request is a turn of b, whose reply is mail for a. A turn of a takes all that has come.
  for (let n = 0; n < 5; n++) posted(store, b, `m${n}`, { from: a, from_path: 'a' })
  const { ctx, notes } = contextAt(store, { bounds: { slotsMax: 1 }, turnsMax: 4 })
  ctx.deliveries.wake(b)
  await ctx.deliveries.untilIdle()
  const isTurn = ({ kind }: SessionRecord): boolean => kind === 'run.completed'
  const turns = (): number => [a, b].flatMap((id) => recordsOf(store, id).filter(isTurn)).length
  expect(turns()).toBe(4)
  const pending = [a, b].flatMap((id) => store.mail.ids(id))
  expect(pending.length).toBeGreaterThan(0)
  expect(notes.at(-1)).toMatch(
    /^messages are still pending for (agent \S+|2 agents); deliver them: substrat deliver --all$/,
  )
  await deliver(contextAt(store).ctx, { all: true, agentIds: [] }, () => undefined)
  expect([a, b].flatMap((id) => store.mail.ids(id))).toEqual([])
  expect(checkHome(store, { isRecovered: true })).toEqual([])
})

test('a stop from outside is heard between visits that wait for nothing but their disk', async () => {
  const store = tempStore()
  const { ctx } = contextAt(store, { bounds: { ...bounds, slotsMax: 1 } })
  const ids: string[] = []
  for (let count = 0; count < 5; count++) ids.push(await newAgent(store))
  for (const id of ids) posted(store, id, 'hi')
  // The first visit loads what the others have then.
  ctx.deliveries.wake(ids[0] as string)
  await ctx.deliveries.untilIdle()
  setImmediate(() => ctx.deliveries.stop())
  for (const id of ids.slice(1)) ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  expect(ids.map((id) => store.mail.ids(id).length)).toEqual([0, 0, 1, 1, 1])
})

test('a part of a budget has no more than the whole, and spends from it', () => {
  const whole = new TurnBudget(3)
  const part = new TurnBudget(2, whole)
  part.spend()
  expect([part.left, whole.left]).toEqual([1, 2])
  whole.spend()
  whole.spend()
  expect(part.left).toBe(0)
  const other = new TurnBudget(Number.POSITIVE_INFINITY)
  other.close()
  expect(other.left).toBe(0)
})

test('a message that found the agent locked by a running turn is delivered by the process of that turn', async () => {
  const store = tempStore()
  const workspace = tempDirectory()
  const id = await slowAgent(store, workspace)
  posted(store, id, 'asked')
  // Also with --no-drain: no other command would deliver it.
  const { ctx: waiting } = contextAt(store, { bounds, drains: false })
  const answered = (): boolean => store.mail.ids('operator').length > 0
  const inPlace = runUntil(waiting, id, answered, new AbortController().signal)
  await waitFor(() => stateOf(store, id).run?.status === 'open', 'the turn')
  const { ctx: sender } = contextAt(store, { bounds })
  posted(store, id, 'later')
  sender.deliveries.wake(id)
  await sender.deliveries.untilIdle()
  expect(store.mail.ids(id)).toHaveLength(2)
  writeFileSync(path.join(workspace, 'go'), '')
  expect(await inPlace).toBeUndefined()
  await waiting.deliveries.untilIdle()
  expect(store.mail.ids(id)).toEqual([])
  expect(stateOf(store, id).delivered).toHaveLength(2)
})

test('a message that comes after the last look of a turn, before the lock is free, gets a turn of its own', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  let late = 0
  ctx.reporter.record = ({ kind }) => {
    if (kind === 'session.suspended' && late++ === 0) posted(store, id, 'late')
  }
  posted(store, id, 'first')
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  expect(store.mail.ids(id)).toEqual([])
  expect(stateOf(store, id).delivered).toHaveLength(2)
})

test('a message that comes while a command holds the agent without a turn is delivered by that command', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  const own = new Visit(ctx, id, () => undefined)
  const work = async (): Promise<void> => {
    posted(store, id, 'meanwhile')
    own.report({ wasStopped: false } as Outcome)
  }
  await own.finish(() => own.open(work, { waitMs: 0, continuesTurn: false }))
  expect(store.mail.ids(id)).toEqual([])
})

test('a gated agent is owed a visit for the permit that waits, and no turn without one', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds })
  posted(store, id, '', { kind: 'control', control: { verb: 'gate' } })
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  for (const text of ['one', 'two']) posted(store, id, text)
  expect(ctx.deliveries.hasWork(id)).toBe(false)
  posted(store, id, '', { kind: 'control', control: { verb: 'permit' } })
  expect(ctx.deliveries.hasWork(id)).toBe(true)
  ctx.deliveries.lookAgain(id)
  await ctx.deliveries.untilIdle()
  expect(store.mail.ids(id)).toHaveLength(1)
  expect(ctx.deliveries.hasWork(id)).toBe(false)
})

test('a parked agent that another command holds is waited for, and obeys what was asked of it', async () => {
  const store = tempStore()
  const id = await parkedAgent(store)
  const { ctx } = contextAt(store, { bounds })
  posted(store, id, '', { kind: 'control', control: { verb: 'gate' } })
  const lease = await store.hold(id, { command: 'substrat set', waitMs: 0 })
  ctx.deliveries.wake(id)
  await lease?.release()
  await ctx.deliveries.untilIdle()
  expect(store.mail.ids(id)).toEqual([])
  expect(stateOf(store, id).gate.isGated).toBe(true)
})

test('a command does not wait for a turn at work, and waits a moment for any other holder', async () => {
  const store = tempStore()
  const parked = stateOf(store, await parkedAgent(store))
  const idle = stateOf(store, await newAgent(store, { name: 'idle' }))
  const atWork = { ...parked, run: { ...(parked.run as Run), wait: null } }
  const waits = [atWork, parked, idle, undefined].map(deliveryWaitMs)
  expect(waits).toEqual([0, limits.shortLockWaitMs, limits.shortLockWaitMs, limits.shortLockWaitMs])
})

test('without a drain no agent is woken, and nothing is noted', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx, notes } = contextAt(store, { bounds, drains: false })
  posted(store, id, 'hi')
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
  expect([store.mail.ids(id).length, notes]).toEqual([1, []])
})

test('a message to the operator is stored without a look at those that are there', () => {
  const store = tempStore()
  const points: string[] = []
  for (let n = 0; n < 5; n++) posted(store, 'operator', `m${n}`, { from: 'a' })
  withFaults(({ point }) => void points.push(point))
  posted(store, 'operator', 'm5', { from: 'a' })
  withFaults(() => undefined)
  expect(points.filter((point) => point.startsWith('mail.read'))).toEqual([])
  expect(points).toContain('mail.put.link')
})
