/** A key is a text: the same text in another form of Unicode is the same key. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkKey } from '../../src/command/input.js'
import { isOwnTurn } from '../../src/dispatch/answered.js'
import { send } from '../../src/dispatch/send.js'
import type { SendRequest } from '../../src/dispatch/send-request.js'
import { limits } from '../../src/limits.js'
import { digestOf } from '../../src/session/ids.js'
import { findKey } from '../../src/session/key-index.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/store.js'
import { completed } from '../../src/turn/step-records.js'
import { contextAt } from '../support/contexts.js'
import { newAgent, newSession, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const COMPOSED = 'Zürich'.normalize('NFC')
const DECOMPOSED = COMPOSED.normalize('NFD')
const KEYS = [COMPOSED, DECOMPOSED]
const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State

async function sent(store: FileStore, agentId: string, key: string | null): Promise<string | null> {
  const request: SendRequest = {
    agentId,
    content: 'hi',
    key,
    retry: false,
    ifBusy: 'wait',
    turnTimeoutMs: null,
    ifWaiting: 'supersede',
    allow: [],
    stepsMax: null,
    isQueued: false,
    kind: 'request',
    notBefore: null,
  }
  const replies: (string | null)[] = []
  await send(contextAt(store, { bounds }).ctx, request, ({ result }) => replies.push(result.reply))
  return replies[0] ?? null
}

/** An agent with a turn of that key as an older version recorded it, then as many of other keys. */
async function withTurnOf(store: FileStore, key: string, others = 0): Promise<string> {
  const session = await newSession(store)
  session.append([{ kind: 'session.activated', boot_id: 'b' }])
  for (const each of [key, ...Array.from({ length: others }, (_, n) => `other ${n}`)]) {
    const run: string = randomUUID()
    const begun = { ...startedRun(run, each), digest: digestOf('hi') }
    session.append([begun, userMessage(run, 'hi'), replied(run, `reply of ${each}`), completed(run, null)])
  }
  session.append([{ kind: 'session.suspended', reason: 'idle' }])
  await session.close(() => false)
  return session.id
}

test('--key takes it in either form as one', () => {
  expect(KEYS.map((key) => checkKey(key))).toEqual([COMPOSED, COMPOSED])
})

test('a message that is sent again with the other form has one turn', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  for (const key of KEYS) expect(await sent(store, id, checkKey(key))).toBe('echo: hi')
  expect(stateOf(store, id).run?.key).toBe(COMPOSED)
  expect(stateOf(store, id).keys).toHaveLength(1)
})

describe('a key that an older version recorded decomposed', () => {
  test.each(KEYS)('is found by %j, also where the index has it', async (key) => {
    for (const others of [0, limits.keysInStateMax + limits.keysLateMax]) {
      const store = tempStore()
      const id = await withTurnOf(store, DECOMPOSED, others)
      expect(findKey(store, stateOf(store, id), key)).toMatchObject({ key: DECOMPOSED })
      expect(await sent(store, id, checkKey(key))).toBe(`reply of ${DECOMPOSED}`)
    }
  })

  test('is that of its own turn', async () => {
    const store = tempStore()
    const state = stateOf(store, await withTurnOf(store, DECOMPOSED))
    expect(KEYS.map((key) => isOwnTurn(state, { key, content: 'hi' }))).toEqual([true, true])
  })
})

test('of two runs that an older version took for two keys the latest counts', async () => {
  const store = tempStore()
  const session = await newSession(store)
  session.append([{ kind: 'session.activated', boot_id: 'b' }])
  for (const key of [DECOMPOSED, COMPOSED]) {
    const run: string = randomUUID()
    session.append([startedRun(run, key), userMessage(run, 'hi'), completed(run, null)])
  }
  await session.close(() => false)
  for (const key of KEYS)
    expect(findKey(store, stateOf(store, session.id), key)).toMatchObject({ key: COMPOSED })
})
