/** An agent's log is replaced by another agent's log. Its records have the offsets that the agent's own snapshot names. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { clock } from '../../src/clock.js'
import { openForRead } from '../../src/session/load.js'
import { peekState } from '../../src/session/peek-state.js'
import { peekSummary } from '../../src/session/peek-summary.js'
import { readRecord } from '../../src/session/read.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { checkChildless } from '../../src/tree/children.js'
import { firstParent, readForest } from '../../src/tree/forest.js'
import { appendTurn, newAgent, newSession, reopen } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let lead: string
let parent: string
let mine: string
let other: string

beforeEach(async () => {
  store = tempStore()
  lead = await newAgent(store, { name: 'lead' })
  parent = await newAgent(store, { name: 'boss' })
  mine = await withTurn('one', parent)
  // Only the timestamps distinguish the end of one log from the end of the other.
  const { now } = clock
  clock.now = () => now() + 1
  onTestFinished(() => void Object.assign(clock, { now }))
  other = await withTurn('two', lead)
  const [log, foreign] = [mine, other].map((id) => readFileSync(store.local.logPath(id)))
  expect(log?.length).toBe(foreign?.length)
  writeFileSync(store.local.logPath(mine), foreign as Buffer)
})

async function withTurn(name: string, parentId: string): Promise<string> {
  const session = await newSession(store, { name, parent: parentId })
  appendTurn(session, 'hello', 'echo: hello')
  await session.close(() => false)
  return session.id
}

function expectForeign(read: () => unknown): void {
  expect(read).toThrow(
    expect.objectContaining({
      code: 'CORRUPT',
      message: expect.stringContaining(`record 1: it is the log of agent ${other}`),
    }),
  )
}

const READERS = [openForRead, peekState, (store: FileStore, id: string) => peekSummary(store, id, false)]

describe('the log of another agent', () => {
  test('is reported by each reader of the state or a part of it', () => {
    for (const look of READERS) expectForeign(() => look(store, mine))
  })

  test('is reported by a reader of one record', () => {
    const state = openForRead(store, other)?.state
    const at = { seq: 1, offset: 0, end: state?.run?.start.offset ?? 0 }
    expectForeign(() => readRecord(store, mine, at))
  })

  test('is refused by a writer, which appends nothing to it', async () => {
    const before = readFileSync(store.local.logPath(mine))
    await expect(reopen(store, mine)).rejects.toMatchObject({ code: 'CORRUPT' })
    expect(readFileSync(store.local.logPath(mine))).toEqual(before)
    expect(store.isHeld(mine)).toBe(false)
  })
})

describe('an agent with the log of another agent', () => {
  test('has the place in the tree that its snapshot names', () => {
    expect(firstParent(store, mine)).toBe(parent)
    const { strays, children } = readForest(store)
    expect([...strays.keys()]).toEqual([mine])
    expect(children.get(parent)).toEqual([mine])
    expect(children.get(lead)).toEqual([other])
  })

  test('blocks the termination of its own parent only, even without an index', async () => {
    const childless = await newAgent(store, { name: 'childless' })
    for (const id of [parent, lead, childless])
      rmSync(join(dirname(store.local.logPath(id)), 'children'), { recursive: true, force: true })
    const stateOf = (id: string) => openForRead(store, id)?.state as NonNullable<ReturnType<typeof peekState>>
    expectForeign(() => checkChildless(store, stateOf(parent), 'terminate'))
    expect(() => checkChildless(store, stateOf(lead), 'terminate')).toThrow(
      expect.objectContaining({ code: 'HAS_CHILDREN' }),
    )
    checkChildless(store, stateOf(childless), 'terminate')
  })

  test('has no parent if its snapshot is missing too', () => {
    rmSync(join(dirname(store.local.logPath(mine)), 'session.json'))
    expect(firstParent(store, mine)).toBeNull()
  })
})
