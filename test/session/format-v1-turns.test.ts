/**
 * The second frozen home of format 1 (test/formats/v1/home-turns, made by make-turns.sh): tools, waits, tokens,
 * compaction. Every later version must read it and continue its pending work.
 */
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import type { ModelMessage } from '../../src/provider/contract.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { conversation } from '../../src/turn/prompt/history.js'
import { FROZEN, frozenHome, recordLines, settleFrozen } from '../support/frozen-home.js'
import { reading } from '../support/readings.js'
import { appendTurn, reopen } from '../support/sessions.js'

/** Soon after the freezing, while its tokens are valid. */
const NOW = '2026-11-20T15:00:00.000Z'
const { now } = clock
let store: FileStore

beforeEach(() => {
  clock.now = () => Date.parse(NOW)
  store = frozenHome('home-turns')
})

afterEach(() => {
  clock.now = now
})

function stateOf(name: string): State {
  return openForRead(store, resolveAgent(store, name))?.state as State
}

/** A text of every agent and record, for comparison with the text stored at freezing. */
function told(): string {
  const lines: string[] = []
  for (const id of [...store.agentIds()].sort()) {
    const state = openForRead(store, id)?.state as State
    const tokens = state.tokens.map(({ status, decision }) => ` ${decision ?? status}`).join('')
    lines.push(
      `${state.name}: ${state.state}, ${state.run?.status}, ${deriveStatus(state, false, reading(NOW))};${tokens}`,
    )
    lines.push(...recordLines(store, id))
  }
  return `${lines.join('\n')}\n`
}

describe('reading the frozen home of turns', () => {
  test('returns every record unchanged', () => {
    const file = join(FROZEN, 'told-turns.txt')
    expect(told()).toBe(readFileSync(file, 'utf8'))
  })

  test('gives the same states without its snapshots', () => {
    const withSnapshots = [...store.agentIds()].map((id) => openForRead(store, id)?.state)
    for (const id of store.agentIds())
      rmSync(join(dirname(store.local.logPath(id)), 'session.json'), { force: true })
    expect([...store.agentIds()].map((id) => openForRead(store, id)?.state)).toEqual(withSnapshots)
  })

  test("returns each agent's wait and tokens", () => {
    expect(stateOf('parked').run?.wait).toMatchObject({ kind: 'approval', call_ids: ['call_0_0'] })
    expect(stateOf('asked').run?.wait).toMatchObject({ kind: 'input' })
    expect(stateOf('limited').run?.wait).toMatchObject({ kind: 'not_before', resume_token_id: null })
    expect(stateOf('rotated').tokens.map(({ status }) => status)).toEqual(['revoked', 'minted'])
    expect(stateOf('approved').tokens.map(({ status }) => status)).toEqual(['revoked', 'consumed'])
    expect(stateOf('superseded').tokens).toMatchObject([{ status: 'revoked', reason: 'superseded' }])
    expect(stateOf('killed').run?.calls).toMatchObject([{ tool: 'shell', status: 'started' }])
    expect(stateOf('compacted').compaction).not.toBeNull()
  })

  test('leaves the audit without findings', () => {
    expect(checkHome(store, { isRecovered: false })).toEqual([])
  })
})

describe('writing to the frozen home of turns', () => {
  test('settles each agent: a wait stays, a killed turn is interrupted, and the others run a turn', async () => {
    store = FileStore.openForWrite(store.address)
    for (const id of store.agentIds()) {
      const session = await reopen(store, id)
      await settleFrozen(session)
      if (session.state.run?.wait == null) appendTurn(session, 'after the thaw', 'echo: after the thaw')
      expectWhole(conversation(session))
      await session.close(() => false)
    }
    expect(checkHome(store, { isRecovered: true })).toEqual([])
    for (const name of ['parked', 'rotated', 'asked', 'limited'])
      expect(deriveStatus(stateOf(name), false, reading(NOW))).toBe('waiting')
  })

  test('gives the model the summary, and every call with its result', async () => {
    const [summary] = conversation(await reopen(store, resolveAgent(store, 'compacted')))
    expect(summary?.content).toMatch(/^\[substrat\] The first \d messages of this conversation were left out/)
    const given = conversation(await reopen(store, resolveAgent(store, 'denied')))
    expect(given.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(given[2]).toMatchObject({ content: 'Denied by the operator: not there.', is_error: true })
  })
})

function expectWhole(messages: ModelMessage[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    for (const [place, { call_id }] of message.tool_calls.entries())
      expect(messages[index + 1 + place]).toMatchObject({ role: 'tool', call_id })
  }
}
