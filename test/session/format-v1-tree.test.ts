/**
 * The third frozen home of format 1 (test/formats/v1/home-tree, made by make-tree.sh): children, mail between agents,
 * reminders, gates, watches. Every later version must read it and continue its pending work.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import { returnMail, sendOutbox } from '../../src/mail/answers.js'
import { controlRecords, listPending, nextMail } from '../../src/mail/inbox.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import { livingBelow, livingChildren } from '../../src/tree/children.js'
import { resolveAgent } from '../../src/tree/names.js'
import { FROZEN, frozenHome, recordLines, settleFrozen } from '../support/frozen-home.js'
import { mailOf } from '../support/mail.js'
import { reading } from '../support/readings.js'
import { appendTurn, newSession, reopen } from '../support/sessions.js'

/** Soon after the freezing, when no timed message is due. */
const NOW = '2026-11-20T18:00:00.000Z'
const { now, beganAt } = clock
let store: FileStore

beforeEach(() => {
  clock.now = () => Date.parse(NOW)
  store = frozenHome('home-tree')
})

afterEach(() => {
  clock.now = now
  clock.beganAt = beganAt
})

function stateOf(name: string): State {
  return openForRead(store, resolveAgent(store, name))?.state as State
}

/** A text of every agent and record, for comparison with the text stored at freezing. */
function told(): string {
  const states = store.agentIds().map((id) => openForRead(store, id)?.state as State)
  return `${states
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .flatMap(toldOf)
    .join('\n')}\n`
}

function toldOf(state: State): string[] {
  const { id, path, parent, gate, reminders, watchers, owes, metadata, delivered } = state
  const facts = {
    parent: parent === null ? null : openForRead(store, parent)?.state.path,
    gate: gate.isGated ? gate.permits : null,
    reminders: reminders.map(({ due_at }) => due_at),
    watchers: watchers.map(({ from, on }) => [openForRead(store, from)?.state.path, ...on]),
    metadata,
    owes: owes.length,
    delivered: delivered.length,
    pending: listPending(store, state).map(({ kind, from_path, content }) => [kind, from_path, content]),
  }
  return [
    `${path}: ${state.state}, ${state.run?.status}, ${deriveStatus(state, false, reading(NOW))} ${JSON.stringify(facts)}`,
    ...recordLines(store, id),
  ]
}

describe('reading the frozen home of the tree', () => {
  test('returns every record unchanged', () => {
    const file = join(FROZEN, 'told-tree.txt')
    if (process.env.FREEZE_TOLD_TREE === '1') writeFileSync(file, told())
    expect(told()).toBe(readFileSync(file, 'utf8'))
  })

  test('gives the same result without its snapshots and indexes', () => {
    const found = (): string => told()
    const before = found()
    for (const id of store.agentIds()) {
      const agent = dirname(store.local.logPath(id))
      rmSync(join(agent, 'session.json'), { force: true })
      rmSync(join(agent, 'children'), { recursive: true, force: true })
    }
    rmSync(join(store.address, 'roots'), { recursive: true })
    expect(found()).toBe(before)
    expect(livingChildren(store, stateOf('top').id).map(({ name }) => name)).toEqual([
      'made',
      'quick',
      'broken',
    ])
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

describe('writing to the frozen home of the tree', () => {
  test('settles each agent, applies its controls, sends its outbox and runs a turn', async () => {
    store = FileStore.openForWrite(store.address)
    for (const id of store.agentIds()) {
      const session = await reopen(store, id)
      await settleFrozen(session)
      if (session.state.state === 'terminated') returnMail(store, session.state, expect.unreachable)
      else {
        session.append(controlRecords(session))
        appendTurn(session, 'after the thaw', 'echo: after the thaw')
      }
      sendOutbox(session, { isRepeat: true, note: expect.unreachable })
      session.appendLast([])
      await session.close((state) => state.reminders.length > 0 || store.mail.ids(state.id).length > 0)
    }
    expect(checkHome(store, { isRecovered: true })).toEqual([])
    // The killed child sends an error to its parent, which waited for it.
    const { id } = stateOf('waiting')
    expect(mailOf(store, id).map(({ kind, from_path }) => [kind, from_path])).toEqual([
      ['error', 'waiting/slow'],
    ])
    expect(store.waits.edgesOf(id)).toEqual([])
  })

  test('delivers pending mail next, and timed mail at its time', async () => {
    const session = await reopen(store, resolveAgent(store, 'top/quick'))
    expect(nextMail(session).map(({ content }) => content)).toEqual(['when you may'])
    await session.abandon()
    clock.now = () => Date.parse('2033-01-01T00:00:00.000Z')
    clock.beganAt = clock.now()
    const later = await reopen(store, resolveAgent(store, 'top/quick'))
    expect(
      listPending(store, later.state)
        .map(({ content }) => content)
        .sort(),
    ).toEqual(['at its time', 'when you may'])
    await later.abandon()
    const top = await reopen(store, resolveAgent(store, 'top'))
    expect(nextMail(top).map(({ content, reminder_id }) => [content, reminder_id !== undefined])).toEqual(
      expect.arrayContaining([
        ['look again', true],
        ['never', true],
      ]),
    )
    await top.abandon()
  })

  test("keeps a sibling's name taken, and frees a terminated sibling's name", async () => {
    store = FileStore.openForWrite(store.address)
    const parent = stateOf('top').id
    await expect(newSession(store, { name: 'Quick', parent })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await (await newSession(store, { name: 'gone', parent })).close(() => false)
    expect(stateOf('top/gone').state).toBe('created')
  })
})
