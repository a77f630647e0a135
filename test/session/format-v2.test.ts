/**
 * The frozen homes of format 2 (test/formats/v2, made by make.sh and make-results.sh): turns, waits, mail, trees, results from elsewhere. Every later version must read them
 * and continue their pending work.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { clock } from '../../src/clock.js'
import { openForRead } from '../../src/session/load.js'
import type { State } from '../../src/session/state.js'
import { deriveStatus } from '../../src/session/status.js'
import { FileStore } from '../../src/storage/file-store.js'
import { frozenHome, frozenIn, recordLines, settleFrozen } from '../support/frozen-home.js'
import { reading } from '../support/readings.js'
import { appendTurn, recordsOf, reopen } from '../support/sessions.js'
import { setHostId } from '../support/this-host.js'

/** Soon after the freezing of each home, while its tokens are valid and no timed message is due. */
const FROZEN_AT = {
  home: '2026-11-23T00:50:00.000Z',
  'home-turns': '2026-11-23T00:50:00.000Z',
  'home-tree': '2026-11-23T00:50:00.000Z',
  'home-results': '2026-11-23T07:10:00.000Z',
}
let frozenAt = ''
const { now } = clock

afterEach(() => {
  clock.now = now
})

function statesOf(store: FileStore): State[] {
  const states = store.agentIds().map((id) => openForRead(store, id)?.state as State)
  return states.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** A text of every agent and record, for comparison with the text stored at freezing. */
function told(store: FileStore): string {
  const lines = statesOf(store).flatMap((state) => {
    const { path, usage, recovery, tokens } = state
    const status = deriveStatus(state, false, reading(frozenAt))
    const facts = { usage, ...recovery, tokens: tokens.map(({ status, wait }) => [status, wait]) }
    return [
      `${path}: ${state.state}, ${state.run?.status}, ${status} ${JSON.stringify(facts)}`,
      ...recordLines(store, state.id),
    ]
  })
  return `${lines.join('\n')}\n`
}

describe.each(Object.entries(FROZEN_AT))('the frozen %s of format 2', (name, at) => {
  let store: FileStore

  beforeEach(() => {
    frozenAt = at
    clock.now = () => Date.parse(at)
    store = frozenHome(name, 2)
    // A killed program is judged on the machine that started it.
    const hosts = statesOf(store).flatMap(({ id }) =>
      recordsOf(store, id).flatMap((record) => ('host_id' in record ? [record.host_id] : [])),
    )
    expect(new Set(hosts).size).toBe(1)
    setHostId(hosts[0] as string)
  })

  test('is read with every record unchanged', () => {
    const file = join(frozenIn(2), `told-${name}.txt`)
    if (process.env.FREEZE_HOMES === '1') writeFileSync(file, told(store))
    expect(told(store)).toBe(readFileSync(file, 'utf8'))
  })

  test('has the same states without its snapshots', () => {
    const before = statesOf(store)
    expect(before.map(({ format }) => format)).toEqual(before.map(() => 2))
    for (const { id } of before)
      rmSync(join(dirname(store.local.logPath(id)), 'session.json'), { force: true })
    expect(statesOf(store)).toEqual(before)
  })

  test('leaves the audit without findings', () => {
    expect(checkHome(store, { isRecovered: false })).toEqual([])
  })

  test('settles each agent, keeps each wait, and runs a turn of the others', async () => {
    const before = statesOf(store)
    store = FileStore.openForWrite(store.address)
    for (const { id, state } of before) {
      const session = await reopen(store, id)
      await settleFrozen(session)
      if (state !== 'terminated' && session.state.run?.wait == null)
        appendTurn(session, 'after the thaw', 'echo: after the thaw')
      await session.close(() => true)
    }
    const after = statesOf(store)
    for (const [index, { run, path }] of before.entries()) {
      const ended = after[index] as State
      if (run?.wait != null) expect(ended.run?.wait, path).toEqual(run.wait)
      const kinds = recordsOf(store, ended.id).map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind === 'session.upgraded')).toEqual([])
    }
    const findings = checkHome(store, { isRecovered: false })
    expect(findings.filter(({ invariant }) => /intact|matches|once|at most/.test(invariant))).toEqual([])
  })
})
