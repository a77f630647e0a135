import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { NewRecord } from '../../src/session/records.js'
import type { Wait } from '../../src/session/state.js'
import {
  deriveStatus,
  isInterrupted,
  isUnfinished,
  type Status,
  waitIsGood,
} from '../../src/session/status.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { foldAll, timeOf } from '../support/folding.js'
import { reading } from '../support/readings.js'
import { createdRecord, startedRun } from '../support/sessions.js'

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const LATER = '2b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

/** A time before any of these tokens expires. */
const NOW = timeOf(1000)

const born: NewRecord[] = [createdRecord(AGENT), { kind: 'session.activated', boot_id: 'b' }]
const running = [...born, startedRun(RUN)]
const ended = (reason: NewRecord<'run.interrupted'>['reason']): NewRecord[] => [
  ...running,
  { kind: 'run.interrupted', run_id: RUN, reason },
]

const TOKEN = '3b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'

/** A waiting run whose token is valid until `deadline_at`. */
const parked = (deadline_at: string): NewRecord[] => [
  ...running,
  { kind: 'token.minted', run_id: RUN, token_id: TOKEN, hash: 'h', expires_at: deadline_at },
  { kind: 'run.waiting', run_id: RUN, wait: 'approval', token_id: TOKEN, deadline_at },
]
const used: NewRecord = {
  kind: 'token.consumed',
  run_id: RUN,
  token_id: TOKEN,
  decision: 'deny',
  digest: 'd',
}
const revoked: NewRecord = { kind: 'token.revoked', run_id: RUN, token_id: TOKEN, reason: 'rotated' }
const limited = (not_before: string): NewRecord[] => [
  ...running,
  { kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before },
]
const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: false, attempt: 1 }

/** The log, the status while the lock is held, and the status while it is free. */
const ROWS: [string, NewRecord[], Status, Status][] = [
  ['no run', born, 'idle', 'idle'],
  ['an open run', running, 'running', 'interrupted_startup'],
  ['a run that completed', [...running, completedRecord(RUN, null)], 'idle', 'idle'],
  [
    'a run that failed',
    [...running, { kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'm' } }],
    'idle',
    'idle',
  ],
  [
    'a run that was cancelled',
    [...running, { kind: 'run.cancelled', run_id: RUN, reason: 'turn_timeout' }],
    'idle',
    'idle',
  ],
  ['a run whose process died', ended('process_exit'), 'interrupted_startup', 'interrupted_startup'],
  ['a run that a reboot ended', ended('process_restart'), 'interrupted_startup', 'interrupted_startup'],
  ['a run that a signal ended', ended('shutdown'), 'interrupted_startup', 'interrupted_startup'],
  ['a run that the user suspended', ended('suspended'), 'idle', 'idle'],
  ['a waiting run with a valid token', parked(timeOf(1001)), 'waiting', 'waiting'],
  ['a waiting run past its deadline', parked(NOW), 'interrupted_waiting', 'interrupted_waiting'],
  [
    'a waiting run whose token was used, but that was not resumed',
    [...parked(timeOf(1001)), used],
    'interrupted_waiting',
    'interrupted_waiting',
  ],
  [
    'a waiting run whose token was revoked',
    [...parked(timeOf(1001)), revoked],
    'interrupted_waiting',
    'interrupted_waiting',
  ],
  [
    'a waiting run whose token was never minted',
    parked(timeOf(1001)).filter(({ kind }) => kind !== 'token.minted'),
    'interrupted_waiting',
    'interrupted_waiting',
  ],
  [
    'a waiting run that was resumed',
    [...parked(timeOf(1001)), used, resumed],
    'running',
    'interrupted_startup',
  ],
  ['a run that waits for a time in the future', limited(timeOf(1001)), 'waiting', 'waiting'],
  ['a run that waits for a time in the past', limited(timeOf(999)), 'waiting', 'waiting'],
  [
    'a run that was not answered in time',
    ended('wait_timeout'),
    'interrupted_waiting',
    'interrupted_waiting',
  ],
  [
    'a run with a tool of unknown outcome',
    ended('unknown_tool'),
    'interrupted_startup',
    'interrupted_startup',
  ],
  [
    'an interrupted run, then a waiting run',
    [
      ...ended('process_exit'),
      startedRun(LATER),
      { kind: 'run.waiting', run_id: LATER, wait: 'not_before', not_before: NOW },
    ],
    'waiting',
    'waiting',
  ],
  [
    'an interrupted run, then an open run',
    [...ended('process_exit'), startedRun(LATER)],
    'running',
    'interrupted_startup',
  ],
  [
    'an interrupted run, then a completed run',
    [...ended('process_exit'), startedRun(LATER), completedRecord(LATER, null)],
    'idle',
    'idle',
  ],
  [
    'an interrupted run of a terminated agent',
    [...ended('process_exit'), { kind: 'session.terminated' }],
    'idle',
    'idle',
  ],
  [
    'an interrupted run, then a status.derived record',
    [...ended('process_exit'), { kind: 'status.derived', status: 'idle' }],
    'interrupted_startup',
    'interrupted_startup',
  ],
]

describe('the derived status', () => {
  test.each(ROWS)('matches its row for %s', (_, records, held, free) => {
    const state = foldAll(records)
    expect(deriveStatus(state, true, reading(NOW))).toBe(held)
    expect(deriveStatus(state, false, reading(NOW))).toBe(free)
  })

  test('matches the table in cases/status.txt (UPDATE_CASES=1 updates it)', () => {
    const file = join(import.meta.dirname, '../cases/status.txt')
    const table = [line('the log', 'lock held', 'lock free'), '']
    for (const [found, records] of ROWS) {
      const state = foldAll(records)
      table.push(
        line(found, deriveStatus(state, true, reading(NOW)), deriveStatus(state, false, reading(NOW))),
      )
    }
    if (process.env.UPDATE_CASES === '1') writeFileSync(file, `${table.join('\n')}\n`)
    expect(`${table.join('\n')}\n`).toBe(readFileSync(file, 'utf8'))
  })
})

function line(found: string, held: string, free: string): string {
  return `${found.padEnd(64)}${held.padEnd(22)}${free}`
}

test('a wait ends at its deadline, even if its token is still valid', () => {
  const state = foldAll(parked(timeOf(2000)))
  const wait = { ...(state.run?.wait as Wait), deadline_at: NOW }
  expect(waitIsGood(state, { ...wait, deadline_at: timeOf(1001) }, reading(NOW))).toBe(true)
  expect(waitIsGood(state, wait, reading(NOW))).toBe(false)
  // Without a deadline, the wait ends when its token expires.
  expect(waitIsGood(state, { ...wait, deadline_at: null }, reading(timeOf(1999)))).toBe(true)
  expect(waitIsGood(state, { ...wait, deadline_at: null }, reading(timeOf(2000)))).toBe(false)
})

test.each(['unknown_tool', 'program_alive'] as const)(
  'a run interrupted by %s is unfinished, but does not continue by itself',
  (reason) => {
    const state = foldAll(ended(reason))
    expect([isUnfinished(state), isInterrupted(state)]).toEqual([true, false])
    expect(isInterrupted(foldAll(ended('process_exit')))).toBe(true)
  },
)

test('a run that the user suspended is unfinished, but continues only on request', () => {
  const state = foldAll(ended('suspended'))
  expect(isUnfinished(state)).toBe(true)
  expect(isInterrupted(state)).toBe(false)
  expect(isUnfinished(foldAll(born))).toBe(false)
})
