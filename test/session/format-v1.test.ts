/**
 * The frozen home of format 1 (test/formats/v1/home): turns, waits, tools and tokens, mail, trees. make.sh, make-turns.sh and
 * make-tree.sh made its agents. Every later version must read it, continue its pending work and write to it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import { returnMail, sendOutbox } from '../../src/mail/answers.js'
import { controlRecords, listPending, nextMail } from '../../src/mail/inbox.js'
import type { ModelMessage } from '../../src/provider/contract.js'
import { openForRead } from '../../src/session/load.js'
import { readPastRun } from '../../src/session/past-run.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import { livingBelow, livingChildren } from '../../src/tree/children.js'
import { resolveAgent } from '../../src/tree/names.js'
import { conversation } from '../../src/turn/prompt/history.js'
import { FROZEN, frozenHome, recordLines, settleFrozen } from '../support/frozen-home.js'
import { mailOf } from '../support/mail.js'
import { reading } from '../support/readings.js'
import { appendTurn, newSession, recordsOf, reopen } from '../support/sessions.js'

/** Soon after the freezing, while its tokens are valid and no timed message is due. */
const NOW = '2026-11-20T18:00:00.000Z'
const { now, beganAt } = clock
let store: FileStore

beforeEach(() => {
  clock.now = () => Date.parse(NOW)
  store = frozenHome('home')
})

afterEach(() => {
  clock.now = now
  clock.beganAt = beganAt
})

function stateOf(name: string): State {
  return openForRead(store, resolveAgent(store, name))?.state as State
}

const statuses = (...names: string[]) => names.map((name) => stateOf(name).run?.status ?? 'none')
const tokens = (name: string) => stateOf(name).tokens.map(({ status }) => status)

/** A text of every agent and record, for comparison with the text stored at freezing. */
function told(): string {
  const states = store.agentIds().map((id) => openForRead(store, id)?.state as State)
  const sorted = states.sort((a, b) => (`${a.path} ${a.id}` < `${b.path} ${b.id}` ? -1 : 1))
  return `${sorted.flatMap(toldOf).join('\n')}\n`
}

function toldOf(state: State): string[] {
  const { id, path, parent, gate, reminders, watchers, owes, metadata, delivered, tokens } = state
  const facts = {
    parent: parent === null ? null : openForRead(store, parent)?.state.path,
    gate: gate.isGated ? gate.permits : null,
    reminders: reminders.map(({ due_at }) => due_at),
    watchers: watchers.map(({ from, on }) => [openForRead(store, from)?.state.path, ...on]),
    metadata,
    owes: owes.length,
    delivered: delivered.length,
    tokens: tokens.map(({ status, decision }) => decision ?? status),
    pending: listPending(store, state).map(({ kind, from_path, content }) => [kind, from_path, content]),
  }
  const status = deriveStatus(state, false, reading(NOW))
  return [
    `${path}: ${state.state}, ${state.run?.status}, ${status} ${JSON.stringify(facts)}`,
    ...recordLines(store, id),
  ]
}

describe('reading the frozen home of format 1', () => {
  test('returns every record unchanged', () => {
    const file = join(FROZEN, 'told.txt')
    if (process.env.FREEZE_HOMES === '1') writeFileSync(file, told())
    expect(told()).toBe(readFileSync(file, 'utf8'))
  })

  test('gives the same result without its snapshots and indexes', () => {
    const before = told()
    for (const id of store.agentIds()) {
      const agent = dirname(store.local.logPath(id))
      rmSync(join(agent, 'session.json'), { force: true })
      rmSync(join(agent, 'children'), { recursive: true, force: true })
    }
    rmSync(join(store.address, 'roots'), { recursive: true })
    expect(told()).toBe(before)
    const children = livingChildren(store, stateOf('top').id)
    expect(children.map(({ name }) => name)).toEqual(['made', 'quick', 'broken'])
  })

  test('returns the state of each agent', () => {
    expect(statuses('completed', 'blob', 'failed', 'terminated', 'queued', 'interrupted', 'open')).toEqual([
      'completed',
      'completed',
      'failed',
      'completed',
      'none',
      'interrupted',
      'open',
    ])
    const { id, keys, instructions } = stateOf('completed')
    expect({ instructions, keys }).toMatchObject({
      instructions: 'You are frozen.',
      keys: [{ key: '2026-01' }],
    })
    const run = { status: 'completed', reply: 'echo: second question' }
    expect(readPastRun(store, id, keys[0] as never)).toMatchObject(run)
    expect(stateOf('failed').run?.error).toEqual({ type: 'crashed', message: 'the command exited 3: no oil' })
    expect(stateOf('terminated').state).toBe('terminated')
    expect(stateOf('queued').hold).toBe(true)
    expect(stateOf('open').run?.process).not.toBeNull()
  })

  test("returns each agent's wait and tokens", () => {
    expect(stateOf('parked').run?.wait).toMatchObject({ kind: 'approval', call_ids: ['call_0_0'] })
    expect(stateOf('asked').run?.wait).toMatchObject({ kind: 'input' })
    expect(stateOf('limited').run?.wait).toMatchObject({ kind: 'not_before', resume_token_id: null })
    expect(tokens('rotated')).toEqual(['revoked', 'minted'])
    expect(tokens('approved')).toEqual(['revoked', 'consumed'])
    expect(stateOf('superseded').tokens).toMatchObject([{ status: 'revoked', reason: 'superseded' }])
    expect(stateOf('killed').run?.calls).toMatchObject([{ tool: 'shell', status: 'started' }])
    expect(stateOf('compacted').compaction).not.toBeNull()
  })

  test('returns the tree', () => {
    const below = (name: string): string[] => livingBelow(store, stateOf(name)).map(({ path }) => path)
    expect(below('top')).toEqual(['top/made', 'top/quick', 'top/broken', 'top'])
    expect(below('waiting')).toEqual(['waiting/slow', 'waiting'])
    expect(stateOf('top/done')).toMatchObject({ state: 'terminated', isDone: true, owes: [] })
    expect(stateOf('top/gone')).toMatchObject({ state: 'terminated', isDone: false })
    expect(stateOf('lead/worker')).toMatchObject({ gate: { isGated: true, permits: 0 }, isPoked: false })
    expect(stateOf('top').metadata).toEqual({ progress: 'half' })
    expect(stateOf('top').reminders).toHaveLength(2)
    expect(mailOf(store, 'operator')).toMatchObject([{ kind: 'error', from_path: 'top/gone' }])
  })

  test('leaves the audit without findings', () => {
    expect(checkHome(store, { isRecovered: false })).toEqual([])
  })
})

describe('writing to the frozen home of format 1', () => {
  test('settles each agent, keeps each wait, applies controls, sends each outbox, and runs a turn of the others', async () => {
    store = FileStore.openForWrite(store.address)
    for (const id of store.agentIds()) {
      const session = await reopen(store, id)
      await settleFrozen(session)
      if (session.state.state === 'terminated') returnMail(store, session.state, expect.unreachable)
      else {
        session.append(controlRecords(session))
        if (session.state.run?.wait == null) appendTurn(session, 'after the thaw', 'echo: after the thaw')
      }
      sendOutbox(session, { isRepeat: true, note: expect.unreachable })
      session.appendLast([])
      expectWhole(conversation(session))
      await session.close(
        ({ reminders, name }) => name === 'queued' || reminders.length > 0 || store.mail.ids(id).length > 0,
      )
    }
    expect(checkHome(store, { isRecovered: true })).toEqual([])
    for (const name of ['parked', 'rotated', 'asked', 'limited'])
      expect(deriveStatus(stateOf(name), false, reading(NOW))).toBe('waiting')
    expect(stateOf('open').run?.status).toBe('completed')
    const kinds = recordsOf(store, stateOf('open').id).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'run.interrupted')).toHaveLength(1)
    // The killed child sends an error to its parent, which waited for it.
    const { id } = stateOf('waiting')
    expect(mailOf(store, id)).toMatchObject([{ kind: 'error', from_path: 'waiting/slow' }])
    expect(store.waits.edgesOf(id)).toEqual([])
  })

  test('gives the model the summary, and every call with its result', async () => {
    const [summary] = conversation(await reopen(store, resolveAgent(store, 'compacted')))
    expect(summary?.content).toMatch(/^\[substrat\] The first \d messages of this conversation were left out/)
    const given = conversation(await reopen(store, resolveAgent(store, 'denied')))
    expect(given.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(given[2]).toMatchObject({ content: 'Denied by the operator: not there.', is_error: true })
  })

  test('delivers pending mail next, and timed mail at its time', async () => {
    const next = async (name: string) => {
      const session = await reopen(store, resolveAgent(store, name))
      const found = { next: nextMail(session), pending: listPending(store, session.state) }
      await session.abandon()
      return found
    }
    const later = {
      content: 'for later',
      key: '2026-02',
      from: 'operator',
      from_path: 'operator',
      kind: 'request',
    }
    expect((await next('queued')).next).toMatchObject([later])
    expect((await next('top/quick')).next).toMatchObject([{ content: 'when you may' }])
    clock.now = () => Date.parse('2033-01-01T00:00:00.000Z')
    clock.beganAt = clock.now()
    const { pending } = await next('top/quick')
    expect(pending.map(({ content }) => content).sort()).toEqual(['at its time', 'when you may'])
    const reminded = (await next('top')).next.filter(({ reminder_id }) => reminder_id !== undefined)
    expect(reminded.map(({ content }) => content)).toEqual(expect.arrayContaining(['look again', 'never']))
  })

  test('keeps a taken name taken, and frees that of a terminated agent', async () => {
    store = FileStore.openForWrite(store.address)
    const parent = stateOf('top').id
    const taken = { code: 'NAME_TAKEN' }
    await expect(newSession(store, { name: 'Completed' })).rejects.toMatchObject(taken)
    await expect(newSession(store, { name: 'Quick', parent })).rejects.toMatchObject(taken)
    await (await newSession(store, { name: 'terminated' })).close(() => false)
    await (await newSession(store, { name: 'gone', parent })).close(() => false)
    expect(stateOf('top/gone').state).toBe('created')
  })
})

function expectWhole(messages: ModelMessage[]): void {
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    for (const [place, { call_id }] of message.tool_calls.entries())
      expect(messages[index + 1 + place]).toMatchObject({ role: 'tool', call_id })
  }
}
