/** A key is a text: the same text in another form of Unicode is the same key. */
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { checkKey } from '../../src/console/input.js'
import { isOwnTurn } from '../../src/dispatch/keyed-message.js'
import { limits } from '../../src/limits.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { digestOf } from '../../src/session/ids.js'
import { hashOfKey } from '../../src/session/key-hashes.js'
import { findKey } from '../../src/session/key-index.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { eachEntry } from '../../src/storage/log/key-entries.js'
import { HomePaths } from '../../src/storage/paths.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { EVERY_KEY } from '../support/keys.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent, newSession, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const COMPOSED = 'Zürich'.normalize('NFC')
const DECOMPOSED = COMPOSED.normalize('NFD')
const KEYS = [COMPOSED, DECOMPOSED]
const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State

async function sent(store: FileStore, agentId: string, key: string | null): Promise<string | null> {
  const request = sendRequest(agentId, { key })
  const replies: (string | null)[] = []
  await deliverMessage(contextAt(store, { bounds }).ctx, request, ({ result }) => replies.push(result.reply))
  return replies[0] ?? null
}

/** An agent with a turn of that key as an older version recorded it, then as many of other keys. */
async function withTurnOf(store: FileStore, key: string, others = 0): Promise<string> {
  const session = await newSession(store)
  session.append([{ kind: 'session.activated', boot_id: 'b' }])
  for (const each of [key, ...Array.from({ length: others }, (_, n) => `other ${n}`)]) {
    const run: string = randomUUID()
    const begun = { ...startedRun(run, each), digest: digestOf('hi') }
    session.append([
      begun,
      userMessage(run, 'hi'),
      replied(run, `reply of ${each}`),
      completedRecord(run, null),
    ])
  }
  session.append([{ kind: 'session.suspended', reason: 'idle' }])
  await session.close(() => false)
  return session.id
}

test('--key treats both forms as the same key', () => {
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

/** In neither form: one letter of it is composed, the other is not. */
const MIXED = `${'é'.normalize('NFC')}-${'é'.normalize('NFD')}`

describe('a key that an older version recorded in neither form', () => {
  test.each([MIXED, MIXED.normalize('NFC'), MIXED.normalize('NFD')])('is found by %j', async (key) => {
    for (const others of [0, limits.keysInStateMax + limits.keysLateMax]) {
      const store = tempStore()
      const id = await withTurnOf(store, MIXED, others)
      expect(findKey(store, stateOf(store, id), checkKey(key) as string)).toMatchObject({ key: MIXED })
      expect(await sent(store, id, checkKey(key))).toBe(`reply of ${MIXED}`)
    }
  })

  test('is found also where the index is of that version, which knows it by no other form', async () => {
    const store = tempStore()
    const id = await withTurnOf(store, MIXED, limits.keysInStateMax + limits.keysLateMax)
    const index = store.keys.open(id)
    const [end, entries] = [index?.end, index?.entries()]
    index?.close()
    if (end === undefined || entries === undefined) throw new Error('there is an index')
    const own = hashOfKey(MIXED.normalize('NFC'))
    const older = [...eachEntry(entries)].filter(([hash]) => hash !== own)
    store.keys.write(end, { added: new Map(older), kept: EVERY_KEY })
    const { keys } = new HomePaths(store.address).agent(id)
    const bytes = readFileSync(keys)
    writeFileSync(keys, ofEarlierVersion(bytes))
    expect(findKey(store, stateOf(store, id), MIXED.normalize('NFC'))).toMatchObject({ key: MIXED })
    expect(await sent(store, id, 'a new one')).toBe('echo: hi')
    const again = store.keys.open(id)
    expect(again?.isByForm).toBe(true)
    expect(again?.find(Buffer.from(own, 'hex'))?.place).toBeDefined()
    again?.close()
  })
})

/** The same pages under a head that says nothing of forms. */
function ofEarlierVersion(bytes: Buffer): Buffer {
  const headBytes = bytes.indexOf('\n') + 1
  const { forms: _, crc: __, ...end } = JSON.parse(bytes.toString('utf8', 0, headBytes))
  const head = frame(end)
  const headCrc = Number.parseInt(JSON.parse(head.toString()).crc, 16)
  const pages = Buffer.from(bytes.subarray(headBytes))
  for (let at = 0; at < pages.length; at += 4096) {
    const crc = crc32(pages.subarray(at, at + 4092), crc32(`page ${at / 4096}`, headCrc))
    pages.writeUInt32BE(crc, at + 4092)
  }
  return Buffer.concat([head, pages])
}

test('the latest of two runs counts if an older version took their keys for different ones', async () => {
  const store = tempStore()
  const session = await newSession(store)
  session.append([{ kind: 'session.activated', boot_id: 'b' }])
  for (const key of [DECOMPOSED, COMPOSED]) {
    const run: string = randomUUID()
    session.append([startedRun(run, key), userMessage(run, 'hi'), completedRecord(run, null)])
  }
  await session.close(() => false)
  for (const key of KEYS)
    expect(findKey(store, stateOf(store, session.id), key)).toMatchObject({ key: COMPOSED })
})
