import { describe, expect, test } from 'vitest'
import { type TurnKind, turnObstacle } from '../../src/dispatch/turn-obstacle.js'
import type { Interruption } from '../../src/schema/words.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Run, State } from '../../src/session/state.js'
import { foldAll, timeOf } from '../support/folding.js'
import { reading } from '../support/readings.js'
import { createdRecord, startedRun } from '../support/sessions.js'

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const RUNS = ['1', '2', '3'].map((digit) => `${digit}b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10`)
const [RUN = ''] = RUNS
const MESSAGES = ['4', '5'].map((digit) => `${digit}b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10`)
const [GATING = '', PERMITTING = ''] = MESSAGES
const NOW = timeOf(1000)
const TURNS: TurnKind[] = ['mail', 'message', 'continuation', 'poke', 'resume']

const born: NewRecord[] = [createdRecord(AGENT, { name: 'bot' }), { kind: 'session.activated', boot_id: 'b' }]
const running = [...born, startedRun(RUN)]
const interrupted = (reason: Interruption): NewRecord[] => [
  ...running,
  { kind: 'run.interrupted', run_id: RUN, reason },
]
const HOST = 'b'.repeat(32)
const onOtherHost: NewRecord[] = [
  ...born,
  { ...startedRun(RUN), host_id: HOST, host_name: 'web-1' },
  {
    kind: 'run.interrupted',
    run_id: RUN,
    reason: 'other_host',
    left: [{ process_group: 7, start_time: 1, kernel_boot_id: 'other', pid_namespace: '1', host_id: HOST }],
  },
]
const limited = (not_before: string): NewRecord[] => [
  ...running,
  { kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before },
]
const parked = (wait: 'approval' | 'input'): NewRecord[] => [
  ...running,
  { kind: 'run.waiting', run_id: RUN, wait, token_id: PERMITTING, deadline_at: NOW },
]
/** Continued twice without being asked, and interrupted each time. */
const exhausted = RUNS.flatMap((run_id, index): NewRecord[] => [
  ...(index === 0 ? running : [{ ...startedRun(run_id), continues: RUNS[index - 1] as string, auto: true }]),
  { kind: 'run.interrupted', run_id, reason: 'process_exit' },
])
const held: NewRecord = { kind: 'session.configured', hold: true }
const gated: NewRecord = { kind: 'agent.gated', message_id: GATING, from: 'operator' }
const permitted: NewRecord = { kind: 'agent.permitted', message_id: PERMITTING, from: 'operator' }
const terminated: NewRecord = { kind: 'session.terminated' }

const resume = 'substrat resume bot'
const ungate = 'substrat ungate bot'
const approve = 'substrat approve bot'
const answer = `substrat answer bot '…'`

/** The state, the turns that something keeps it from, what that is, and the command to run next. */
const ROWS: [string, NewRecord[], TurnKind[], string, string | null][] = [
  ['a terminated agent', [...interrupted('process_exit'), terminated], TURNS, 'terminated', null],
  ['a turn that waits for approval', parked('approval'), except('message'), 'wait', approve],
  ['a turn that waits for an answer', parked('input'), except('message'), 'wait', answer],
  ['a turn that waits for a time', limited(timeOf(1001)), except('message'), 'wait', resume],
  ['a turn whose time has come', limited(timeOf(999)), ['mail'], 'wait', resume],
  ['a turn that was continued in vain', exhausted, ['continuation'], 'exhausted', resume],
  ['an agent on hold', [...interrupted('process_exit'), held], except('resume'), 'hold', resume],
  ['a gated agent', [...interrupted('process_exit'), gated], except('resume'), 'gate', ungate],
  ['a program that may still run', interrupted('program_alive'), except('resume'), 'program', resume],
  ['a tool of unknown outcome', interrupted('unknown_tool'), except('resume'), 'unknown', resume],
  ['a program on another host', onOtherHost, TURNS, 'program', `substrat recover --host-gone web-1`],
  ['a gated agent with a permit', [...interrupted('process_exit'), gated, permitted], [], '', null],
  ['a turn that is open', running, [], '', null],
]

function except(turn: TurnKind): TurnKind[] {
  return TURNS.filter((other) => other !== turn)
}

const OWN = { isShared: false }

const found = (state: State, turn: TurnKind) => turnObstacle(OWN, state, turn, () => reading(NOW))

describe('the obstacle to a turn', () => {
  test.each(ROWS)('%s', (_, records, turns, kind, next) => {
    const state = foldAll(records)
    const kept = TURNS.filter((turn) => found(state, turn) !== undefined)
    expect(kept).toEqual(turns)
    for (const turn of kept) expect(found(state, turn)).toMatchObject({ kind, next })
  })

  test('of several it is the one that a person removes first', () => {
    const kinds = (records: NewRecord[], turn: TurnKind) => found(foldAll(records), turn)?.kind
    expect(kinds([...parked('approval'), held, gated], 'mail')).toBe('wait')
    expect(kinds([...parked('approval'), held, gated], 'message')).toBe('hold')
    expect(kinds([...exhausted, held, gated], 'continuation')).toBe('exhausted')
    expect(kinds([...exhausted, held, gated], 'mail')).toBe('hold')
    expect(kinds([...interrupted('program_alive'), gated], 'mail')).toBe('gate')
    expect(kinds([...born, held, gated, terminated], 'mail')).toBe('terminated')
  })

  test('in a shared home it is first the host, for every kind of turn', () => {
    const place = { kind: 'session.configured' as const, host_id: 'b'.repeat(32), host_name: 'ci-2' }
    const there = foldAll([...parked('approval'), held, place])
    const anywhere = foldAll([...born, place, { kind: 'session.configured', workspace_scope: 'any' }])
    for (const turn of TURNS) {
      expect(turnObstacle({ isShared: true }, there, turn)).toMatchObject({ kind: 'host', host: 'ci-2' })
      expect(turnObstacle(OWN, there, turn)?.kind).not.toBe('host')
      expect(turnObstacle({ isShared: true }, anywhere, turn)).toBeUndefined()
    }
  })

  test('an agent without a host belongs to that of its latest turn', () => {
    const elsewhere = foldAll(interrupted('process_exit'))
    const run = { ...(elsewhere.run as Run), host_id: 'b'.repeat(32), host_name: 'ci-2' }
    expect(turnObstacle({ isShared: true }, { ...elsewhere, run }, 'mail')).toMatchObject({ host: 'ci-2' })
    expect(turnObstacle({ isShared: true }, foldAll(born), 'mail')).toBeUndefined()
  })

  test('the clock is read only where a turn waits', () => {
    const asked = () => {
      throw new Error('the clock was read')
    }
    for (const records of [born, running, exhausted, [...running, held, gated]])
      for (const turn of TURNS) expect(() => turnObstacle(OWN, foldAll(records), turn, asked)).not.toThrow()
  })
})
