/**
 * A clock that was 400 days ahead once: approvals live their lifetime, a delay and a limit last as long as they were to
 * last, and an expired token never revives; in the same boot, and after a restart of the machine.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { clock } from '../../src/clock.js'
import type { SubstratError } from '../../src/errors.js'
import { decide, rotateToken } from '../../src/operations/decide.js'
import { queue } from '../../src/operations/message/queue.js'
import { recover } from '../../src/operations/recover.js'
import { dueAfter } from '../../src/session/durations.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import { statusNow } from '../../src/session/status-now.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { mintToken } from '../../src/turn/tokens.js'
import { contextAt } from '../support/contexts.js'
import { killedAt } from '../support/killed.js'
import { sendRequest } from '../support/send-request.js'
import { beginning, newAgent, newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const TRUE_TIME = Date.UTC(2026, 10, 20)

const { now } = clock
afterEach(() => {
  clock.now = now
  delete clock.uptime
})

/** The real time since the test began, how far the clock is ahead of it, and when the machine was started. */
let aheadMs = 0
let elapsedMs = 0
let bootedMs = 0

function begin(): void {
  aheadMs = elapsedMs = bootedMs = 0
  clock.now = () => TRUE_TIME + elapsedMs + aheadMs
  // The kernel's id stays: a restart shows by an uptime that is too small.
  clock.uptime = () => 10 * DAY + elapsedMs - bootedMs
}

function pass(ms: number): void {
  elapsedMs += ms
}

function setClock(ms: number): void {
  aheadMs = ms
}

function restart(): void {
  bootedMs = elapsedMs + 10 * DAY
}

const statusOf = (store: FileStore, id: string): string => {
  const state = openForRead(store, id)?.state
  return state === undefined ? 'none' : statusNow(store, state)
}
const turnsOf = (store: FileStore, id: string): number => {
  const log = store.openLog(id)
  const text = log?.read(0, log.size()).toString() ?? ''
  log?.close()
  return text.split('"kind":"run.completed"').length - 1
}

async function recovered(store: FileStore): Promise<void> {
  const { ctx } = contextAt(store, { bounds: { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 } })
  await recover(ctx, { all: true, agents: [] }, 'all', () => undefined)
}

const LIFETIME = 7 * DAY

/** An agent whose turn waits for approval. */
async function parked(store: FileStore): Promise<{ id: string; secret: string }> {
  const session = await newSession(store)
  const run = randomUUID()
  const { token, secret } = mintToken(new Date(clock.now() + LIFETIME).toISOString())
  const call = { call_id: 'c1', name: 'read_skill', input: {} }
  session.append([...beginning(session, run, 'go'), { kind: 'model.requested', run_id: run }])
  session.append([{ kind: 'model.responded', run_id: run, stop: 'tool_calls', calls: [call] }])
  const { token_id, expires_at } = token
  const wait: NewRecord = {
    kind: 'run.waiting',
    run_id: run,
    wait: 'approval',
    asks: [{ call_id: 'c1', tool: 'read_skill', input: {} }],
    token_id,
    deadline_at: expires_at,
  }
  session.append([{ kind: 'token.minted', run_id: run, ...token }, wait])
  session.append([{ kind: 'session.suspended', reason: 'idle' }])
  await session.close(() => true)
  return { id: session.id, secret }
}

/** An agent that its provider limits for an hour. */
async function limited(store: FileStore): Promise<string> {
  const session = await newSession(store)
  const run = randomUUID()
  session.append([...beginning(session, run, 'go'), { kind: 'model.requested', run_id: run }])
  session.append([
    { kind: 'model.failed', run_id: run, error: { type: 'rate_limit', message: 'later' }, retry_in_ms: null },
    { kind: 'run.waiting', run_id: run, wait: 'not_before', not_before: dueAfter(HOUR).at, why: 'later' },
    { kind: 'session.suspended', reason: 'idle' },
  ])
  await session.close(() => true)
  return session.id
}

/** An agent whose log is ahead of the clock from now on. */
async function withLogAhead(store: FileStore): Promise<string> {
  setClock(400 * DAY)
  const id = await newAgent(store)
  setClock(0)
  return id
}

function delayed(store: FileStore, id: string): void {
  const { ctx } = contextAt(store)
  queue(ctx, sendRequest(id, { isQueued: true, notBefore: dueAfter(2 * HOUR) }))
}

async function denied(store: FileStore, id: string, token: string): Promise<string> {
  const { ctx } = contextAt(store, { bounds: { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 } })
  let said = 'nothing'
  const request = { agentId: id, token, tokenId: null, decision: 'deny', text: '' } as const
  try {
    await decide(ctx, request, ({ result }) => {
      said = result.run?.status ?? 'no run'
    })
    return said
  } catch (error) {
    return (error as SubstratError).code
  }
}

describe.each([
  ['in one boot', () => undefined],
  ['over a restart of the machine', restart],
])('begun under a clock that is 400 days ahead, which is then set right, %s:', (_, between) => {
  const beginAhead = (): void => {
    begin()
    setClock(400 * DAY)
  }
  const setRight = async (store: FileStore): Promise<void> => {
    setClock(0)
    between()
    await recovered(store)
  }

  test('an approval can be given for its lifetime, and no longer', async () => {
    beginAhead()
    const store = tempStore()
    const [one, other] = [await parked(store), await parked(store)]
    await setRight(store)
    pass(LIFETIME - MINUTE)
    expect(statusOf(store, one.id)).toBe('waiting')
    expect(await denied(store, one.id, one.secret)).toBe('completed')
    pass(2 * MINUTE)
    expect(statusOf(store, other.id)).toBe('interrupted_waiting')
    expect(await denied(store, other.id, other.secret)).toBe('TOKEN_EXPIRED')
  })

  test('an hour of a limit lasts an hour', async () => {
    beginAhead()
    const store = tempStore()
    const id = await limited(store)
    await setRight(store)
    pass(HOUR - MINUTE)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(0)
    pass(2 * MINUTE)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(1)
  })

  test('a message that is to wait two hours waits two hours', async () => {
    beginAhead()
    const store = tempStore()
    const id = await newAgent(store)
    delayed(store, id)
    await setRight(store)
    pass(2 * HOUR - MINUTE)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(0)
    pass(2 * MINUTE)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(1)
  })

  test('a time is counted anew once', async () => {
    beginAhead()
    const store = tempStore()
    const id = await limited(store)
    await setRight(store)
    const { last_seq } = openForRead(store, id)?.state ?? {}
    pass(MINUTE)
    await recovered(store)
    expect(openForRead(store, id)?.state.last_seq).toBe(last_seq)
  })
})

describe('behind a log that is ahead of the clock', () => {
  test('a new token can be used at once', async () => {
    begin()
    const store = tempStore()
    setClock(400 * DAY)
    const { id } = await parked(store)
    setClock(0)
    const { ctx } = contextAt(store, { bounds: { tokenLifetimeMs: LIFETIME } })
    const { secret } = await rotateToken(ctx, id)
    expect(statusOf(store, id)).toBe('waiting')
    expect(await denied(store, id, secret)).toBe('completed')
  })

  test('a message that is to wait two hours is not delivered before', async () => {
    begin()
    const store = tempStore()
    const id = await withLogAhead(store)
    delayed(store, id)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(0)
    pass(2 * HOUR)
    await recovered(store)
    expect(turnsOf(store, id)).toBe(1)
  })
})

describe('an expired token does not revive', () => {
  test('where the clock is set back behind its end, in the same boot', async () => {
    begin()
    const store = tempStore()
    const { id, secret } = await parked(store)
    pass(LIFETIME + MINUTE)
    setClock(-3 * DAY)
    expect(statusOf(store, id)).toBe('interrupted_waiting')
    expect(await denied(store, id, secret)).toBe('TOKEN_EXPIRED')
  })

  test('where a command met it under a clock that was ahead', async () => {
    begin()
    const store = tempStore()
    const { id, secret } = await parked(store)
    setClock(400 * DAY)
    await recovered(store)
    setClock(0)
    restart()
    expect(await denied(store, id, secret)).toBe('TOKEN_EXPIRED')
  })
})

test('killed at any step of counting a delay anew, the message is there once, with the old delay or the new', async () => {
  for (let step = 1; ; step++) {
    begin()
    const store = tempStore()
    setClock(400 * DAY)
    const id = await newAgent(store)
    delayed(store, id)
    setClock(0)
    restart()
    const isKilled = await killedAt(
      step,
      () => recovered(store),
      ({ point }) => point.startsWith('mail.replace'),
    )
    await recovered(store)
    expect([store.mail.ids(id).length, turnsOf(store, id)]).toEqual([1, 0])
    pass(2 * HOUR)
    await recovered(store)
    expect([store.mail.ids(id).length, turnsOf(store, id)]).toEqual([0, 1])
    if (!isKilled) {
      expect(step).toBeGreaterThan(4)
      return
    }
  }
})
