/** Agents whose log or snapshot an earlier version wrote. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { appendKeyedTurns } from '../support/aged.js'
import { appendTurn, newAgent, reopen } from '../support/sessions.js'
import { encodeEarlierSnapshot } from '../support/snapshots.js'
import { tempStore } from '../support/temp.js'

let store: FileStore
let id: string

beforeEach(async () => {
  store = tempStore()
  id = await newAgent(store, { name: 'a' })
})

function writeEarlierSnapshot(state: State): void {
  writeFileSync(join(dirname(store.local.logPath(id)), 'session.json'), encodeEarlierSnapshot(state))
}

describe('a writer that counts the usage of an agent with an earlier snapshot', () => {
  test('still opens the agent if the log is damaged far before its end', async () => {
    const state = appendKeyedTurns(store, id, Array(400).fill(undefined))
    writeEarlierSnapshot(state)
    const bytes = readFileSync(store.local.logPath(id))
    bytes[700] = (bytes[700] as number) ^ 1
    writeFileSync(store.local.logPath(id), bytes)
    const session = await reopen(store, id)
    expect(session.state).toMatchObject({ last_seq: state.last_seq, usage: null })
    appendTurn(session, 'one more', 'done')
    await session.close(() => false)
    expect(openForRead(store, id)?.state).toMatchObject({ last_seq: session.state.last_seq, usage: null })
    expect(readFileSync(store.local.logPath(id)).subarray(0, bytes.length).equals(bytes)).toBe(true)
  })

  test('cuts no acknowledged record if the damage is in the last batch', async () => {
    const session = await reopen(store, id)
    const title = 'x'.repeat(50_000)
    session.append(Array(8).fill({ kind: 'session.configured', title }))
    const { state } = session
    await session.close(() => false)
    writeEarlierSnapshot(state)
    const bytes = readFileSync(store.local.logPath(id))
    const damaged = bytes.indexOf(title) + 10
    bytes[damaged] = (bytes[damaged] as number) ^ 1
    writeFileSync(store.local.logPath(id), bytes)
    const later = await reopen(store, id)
    expect(later.state).toMatchObject({ last_seq: state.last_seq, usage: null })
    await later.close(() => false)
    expect(readFileSync(store.local.logPath(id)).equals(bytes)).toBe(true)
  })
})
