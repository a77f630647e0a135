/**
 * The frozen home of format 1 (test/formats/v1/home, made by make.sh beside it). Every later version must read it and
 * write to it.
 */
import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { nextMail } from '../../src/mail/inbox.js'
import { openForRead } from '../../src/session/load.js'
import { readPastRun } from '../../src/session/past-run.js'
import { readRecordText } from '../../src/session/read.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { FROZEN, frozenHome, settleFrozen } from '../support/frozen-home.js'
import { reading } from '../support/readings.js'
import { appendTurn, newSession, recordsOf, reopen } from '../support/sessions.js'

const NAMES = ['completed', 'blob', 'failed', 'terminated', 'queued', 'interrupted', 'open']
let store: FileStore
/** The time of freezing. */
const NOW = '2026-11-20T12:00:00.000Z'

beforeEach(() => {
  store = frozenHome('home')
})

function stateOf(name: string): State {
  return openForRead(store, resolveAgent(store, name))?.state as State
}

/** A text of every agent and record, for comparison with the text stored at freezing. */
function told(): string {
  const lines: string[] = []
  for (const id of [...store.agentIds()].sort()) {
    const state = openForRead(store, id)?.state as State
    lines.push(
      `${id} ${state.name ?? '-'}: ${state.state}, ${state.last_seq} records, ${deriveStatus(state, false, reading(NOW))}`,
    )
    for (const record of recordsOf(store, id)) {
      const text = readRecordText(store, id, record)
      lines.push(`  ${record.seq} ${record.ts} ${record.kind}${text === '' ? '' : ` ${shortened(text)}`}`)
    }
  }
  return `${lines.join('\n')}\n`
}

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text
}

describe('reading the frozen home of format 1', () => {
  test('returns every record unchanged', () => {
    const file = join(FROZEN, 'told.txt')
    expect(told()).toBe(readFileSync(file, 'utf8'))
  })

  test('finds its agents by name, with the same states without its snapshots', () => {
    const withSnapshots = NAMES.map(stateOf)
    for (const id of store.agentIds()) rmSync(join(dirname(store.local.logPath(id)), 'session.json'))
    rmSync(join(store.address, 'roots'), { recursive: true })
    expect(NAMES.map(stateOf)).toEqual(withSnapshots)
  })

  test('returns the state of each agent', () => {
    expect(NAMES.map((name) => stateOf(name).run?.status ?? 'none')).toEqual([
      'completed',
      'completed',
      'failed',
      'completed',
      'none',
      'interrupted',
      'open',
    ])
    expect(stateOf('completed')).toMatchObject({
      instructions: 'You are frozen.',
      keys: [{ key: '2026-01' }],
    })
    expect(stateOf('failed').run?.error).toEqual({ type: 'crashed', message: 'the command exited 3: no oil' })
    expect(stateOf('terminated').state).toBe('terminated')
    expect(stateOf('queued').hold).toBe(true)
    expect(stateOf('open').run?.process).not.toBeNull()
    const { id, keys } = stateOf('completed')
    expect(readPastRun(store, id, keys[0] as never)).toMatchObject({
      status: 'completed',
      reply: 'echo: second question',
    })
  })

  test('leaves the audit without findings', () => {
    expect(checkHome(store, { isRecovered: false })).toEqual([])
  })
})

describe('writing to the frozen home of format 1', () => {
  test('settles each living agent and runs a turn', async () => {
    store = FileStore.openForWrite(store.address)
    for (const id of store.agentIds()) {
      const session = await reopen(store, id)
      await settleFrozen(session)
      if (session.state.state !== 'terminated') appendTurn(session, 'after the thaw', 'echo: after the thaw')
      await session.close((state) => state.name === 'queued')
    }
    expect(checkHome(store, { isRecovered: true })).toEqual([])
    expect(stateOf('open').run?.status).toBe('completed')
    expect(
      recordsOf(store, stateOf('open').id).filter(({ kind }) => kind === 'run.interrupted'),
    ).toHaveLength(1)
  })

  test('delivers the pending message next', async () => {
    const session = await reopen(store, resolveAgent(store, 'queued'))
    expect(nextMail(session)).toMatchObject([
      { content: 'for later', key: '2026-02', from: 'operator', from_path: 'operator', kind: 'request' },
    ])
    await session.abandon()
  })

  test("keeps a taken name taken, and frees a terminated agent's name", async () => {
    store = FileStore.openForWrite(store.address)
    await expect(newSession(store, { name: 'Completed' })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await (await newSession(store, { name: 'terminated' })).close(() => false)
  })
})
