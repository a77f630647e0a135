import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SessionStateError } from '../../../src/errors.js'
import { limits } from '../../../src/limits.js'
import { fold } from '../../../src/session/fold/fold.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { SessionState, State } from '../../../src/session/state.js'
import { completedRecord } from '../../../src/turn/step/records.js'
import { foldAll, locationOf, placed, timeOf } from '../../support/folding.js'
import { createdRecord, replied, startedRun, userMessage } from '../../support/sessions.js'
import { encodeSnapshot } from '../../support/snapshots.js'

const AGENT = randomUUID()
const RUN: string = randomUUID()
const OTHER_RUN = randomUUID()

const created = createdRecord(AGENT, { name: 'a' })
const activated: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const suspended: NewRecord = { kind: 'session.suspended', reason: 'idle' }
const terminated: NewRecord = { kind: 'session.terminated' }
const started = startedRun(RUN)
const asked: NewRecord = { kind: 'model.requested', run_id: RUN }
const responded: NewRecord = {
  kind: 'model.responded',
  run_id: RUN,
  stop: 'end',
  usage: { input_tokens: 3, output_tokens: 4 },
}
const launched: NewRecord = {
  kind: 'provider.started',
  run_id: RUN,
  process_group: 10,
  start_time: 20,
  kernel_boot_id: 'k',
  pid_namespace: '1',
}
const interrupted: NewRecord = { kind: 'run.interrupted', run_id: RUN, reason: 'process_exit' }
const running = [created, activated, started]

function mail(id: string, run: string = RUN): NewRecord<'mail.delivered'> {
  return {
    kind: 'mail.delivered',
    run_id: run,
    message_id: id,
    from: 'operator',
    mail_kind: 'request',
    content: 'hi',
    sent_at: timeOf(0),
  }
}

describe('a kept server', () => {
  const group = { process_group: 10, start_time: 20, kernel_boot_id: 'k', pid_namespace: '1' }
  const server_id = randomUUID()
  const kept: NewRecord = { kind: 'server.kept', server_id, group }
  const stopped: NewRecord = { kind: 'server.stopped', server_id }

  test('belongs to the session, not to the run that started it', () => {
    const { warm, run } = foldAll([...running, kept, interrupted])
    expect(warm).toEqual({ server_id, group })
    expect(run?.process).toBeNull()
  })

  test('leaves nothing in the state after it stops, even if the session was suspended before', () => {
    const never = foldAll([created, activated, suspended])
    const state = foldAll([created, activated, kept, suspended, stopped])
    expect(Object.keys(state)).toEqual(Object.keys(never))
  })

  test('replaces the server before it, which can then no longer be stopped', () => {
    const other = randomUUID()
    const both = [created, kept, { ...kept, server_id: other }]
    expect(foldAll(both).warm?.server_id).toBe(other)
    expect(() => foldAll([...both, stopped])).toThrow('is not kept')
    expect(() => foldAll([created, stopped])).toThrow('is not kept')
  })

  test('must be stopped before its agent is terminated', () => {
    expect(() => foldAll([created, kept, terminated])).toThrow(SessionStateError)
    expect(foldAll([created, kept, stopped, terminated]).state).toBe('terminated')
  })
})

describe('the state of a session', () => {
  const paths: Record<SessionState, NewRecord[]> = {
    created: [created],
    active: [created, activated],
    suspended: [created, activated, suspended],
    terminated: [created, terminated],
  }
  const moves: [NewRecord, SessionState, SessionState[]][] = [
    [activated, 'active', ['created', 'suspended']],
    [suspended, 'suspended', ['active']],
    [terminated, 'terminated', ['created', 'active', 'suspended']],
  ]
  for (const [record, to, from] of moves) {
    for (const state of Object.keys(paths) as SessionState[]) {
      if (from.includes(state)) {
        test(`can change from ${state} to ${to}`, () => {
          expect(foldAll([...paths[state], record]).state).toBe(to)
        })
      } else {
        test(`cannot change from ${state} to ${to}`, () => {
          expect(() => foldAll([...paths[state], record])).toThrow(SessionStateError)
        })
      }
    }
  }

  test('starts with exactly one session.created', () => {
    expect(() => foldAll([activated])).toThrow(SessionStateError)
    expect(() => foldAll([created, created])).toThrow(SessionStateError)
  })

  test('accepts a derived status after session.terminated, but no activation, run or configuration', () => {
    const state = foldAll(paths.terminated)
    for (const record of [activated, started, { kind: 'session.configured', hold: true } as NewRecord])
      expect(() => foldAll([record], state), record.kind).toThrow(SessionStateError)
    expect(foldAll([{ kind: 'status.derived', status: 'idle' }], state).state).toBe('terminated')
  })

  test('cannot change to terminated while a run is open', () => {
    expect(() => foldAll([...running, terminated])).toThrow(/open run/)
  })

  test('changes only in the fields that a configuration names', () => {
    const before = foldAll([created, { kind: 'session.configured', options: { a: '1' }, model: 'm' }])
    const after = foldAll(
      [{ kind: 'session.configured', options: { b: '2' }, instructions: 'be brief', title: 't', hold: true }],
      before,
    )
    const changed = { options: { a: '1', b: '2' }, instructions: 'be brief', title: 't', hold: true }
    expect(after).toMatchObject({ ...changed, model: 'm', workspace: before.workspace })
    const cleared: NewRecord = { kind: 'session.configured', model: null, instructions: null, hold: false }
    expect(foldAll([cleared], after)).toMatchObject({ model: null, instructions: null, hold: false })
  })
})

describe('a run', () => {
  const ends: NewRecord[] = [
    completedRecord(RUN, { input_tokens: 1, output_tokens: 2 }),
    { kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'it broke' } },
    { kind: 'run.cancelled', run_id: RUN, reason: 'turn_timeout' },
    interrupted,
  ]

  test.each(ends)('is ended by $kind, once', (end) => {
    const ended = foldAll([...running, end])
    expect(ended.run).toMatchObject({ status: end.kind.slice('run.'.length), ended_at: timeOf(4) })
    for (const again of ends) expect(() => foldAll([again], ended)).toThrow(SessionStateError)
  })

  const within: NewRecord[] = [
    ...ends,
    { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: true, attempt: 1 },
    userMessage(RUN, 'hi'),
    mail(randomUUID()),
    replied(RUN, 'hello'),
    asked,
    responded,
    launched,
  ]

  test.each(within)('accepts $kind only under its own id and while it is open', (record) => {
    expect(() => foldAll([created, activated, record])).toThrow(SessionStateError)
    expect(() => foldAll([...running, { ...record, run_id: OTHER_RUN } as NewRecord])).toThrow(
      SessionStateError,
    )
    expect(() => foldAll([...running, record])).not.toThrow()
  })

  test('starts only in an active session without an open run', () => {
    expect(() => foldAll([created, started])).toThrow(SessionStateError)
    expect(() => foldAll([created, activated, suspended, started])).toThrow(SessionStateError)
    expect(() => foldAll([...running, startedRun(OTHER_RUN)])).toThrow(SessionStateError)
  })

  test.each([
    ['started', [started]],
    ['asked', [started, asked]],
    ['launched', [started, launched]],
    ['answered', [started, asked, responded]],
    ['answered', [started, launched, replied(RUN, 'hello')]],
  ] as [string, NewRecord[]][])('has the phase %s after its records', (phase, records) => {
    expect(foldAll([created, activated, ...records]).run?.phase).toBe(phase)
  })

  test('has the locations of its prompt and reply, and its usage after its end', () => {
    const state = foldAll([...running, userMessage(RUN, 'hi'), asked, responded, replied(RUN, 'hello')])
    expect(state.run).toMatchObject({ prompts: [locationOf(4)], reply: locationOf(7) })
    expect(state.reply).toEqual(locationOf(7))
    expect(foldAll([completedRecord(RUN, null)], state).run?.usage).toEqual({
      input_tokens: 3,
      output_tokens: 4,
    })
  })

  test('that continues another run starts with the prompt of that run', () => {
    const before = [...running, userMessage(RUN, 'hi'), interrupted]
    const next: NewRecord = { ...startedRun(OTHER_RUN), origin: 'continuation', continues: RUN, auto: true }
    expect(foldAll([...before, next]).run).toMatchObject({
      continues: RUN,
      prompts: [locationOf(4)],
    })
    expect(foldAll([...before, startedRun(OTHER_RUN)]).run?.prompts).toEqual([])
  })

  test('has no process after its end', () => {
    const state = foldAll([...running, launched])
    expect(state.run?.process).toMatchObject({ process_group: 10, start_time: 20 })
    expect(foldAll([interrupted], state).run?.process).toBeNull()
  })
})

describe('the recovery state', () => {
  const resumed = (auto: boolean): NewRecord => ({
    kind: 'run.resumed',
    run_id: RUN,
    boot_id: 'b2',
    auto,
    attempt: 1,
  })

  test('counts automatic attempts until the run makes progress or the user sends a message', () => {
    const twice = foldAll([...running, resumed(true), resumed(true)])
    expect(twice.recovery.barren_attempts).toBe(2)
    expect(foldAll([resumed(false)], twice).recovery.barren_attempts).toBe(2)
    expect(foldAll([replied(RUN, 'x')], twice).recovery.barren_attempts).toBe(0)
    expect(foldAll([asked, responded], twice).recovery.barren_attempts).toBe(0)
    const auto: NewRecord = { ...startedRun(OTHER_RUN), continues: RUN, auto: true }
    expect(foldAll([interrupted, auto], twice).recovery.barren_attempts).toBe(3)
    expect(foldAll([interrupted, { ...auto, auto: false }], twice).recovery.barren_attempts).toBe(0)
    expect(foldAll([interrupted, startedRun(OTHER_RUN)], twice).recovery.barren_attempts).toBe(0)
    // An attempt that a stop signal cut short does not count.
    const stopped: NewRecord = { ...interrupted, reason: 'shutdown' } as NewRecord
    expect(foldAll([stopped], twice).recovery.barren_attempts).toBe(1)
  })

  test('counts a tool result as progress of a model, but not of a program, which may die after each result', () => {
    const call = { run_id: RUN, call_id: 'c', tool: 'list_children' }
    const result: NewRecord = { kind: 'tool.finished', ...call, content: 'none', is_error: false }
    const twice = foldAll([...running, resumed(true), resumed(true)])
    const ofProgram: NewRecord[] = [{ kind: 'tool.started', ...call, input: {} }, result]
    expect(foldAll(ofProgram, twice).recovery.barren_attempts).toBe(2)
    const calls = [{ call_id: 'c', name: 'list_children', input: {} }]
    const called: NewRecord = { kind: 'model.responded', run_id: RUN, stop: 'tool_calls', calls }
    const after = foldAll([asked, called, resumed(true), { kind: 'tool.started', ...call }], twice)
    expect(after.recovery.barren_attempts).toBe(1)
    expect(foldAll([result], after).recovery.barren_attempts).toBe(0)
  })

  test('carries the launch of a program over only to a run that continues or repeats the first run', () => {
    const before = foldAll([...running, launched])
    expect(before.run?.hasLaunched).toBe(true)
    const next = (over: object): NewRecord => ({ ...startedRun(OTHER_RUN), ...over }) as NewRecord
    const launchedIn = (over: object) => foldAll([interrupted, next(over)], before).run?.hasLaunched
    expect(launchedIn({ origin: 'continuation', continues: RUN })).toBe(true)
    expect(launchedIn({ repeats: RUN })).toBe(true)
    expect(launchedIn({})).toBe(false)
    const never = foldAll([...running, interrupted, next({ origin: 'continuation', continues: RUN })])
    expect(never.run?.hasLaunched).toBe(false)
  })

  test('has the latest interruption until the next run starts', () => {
    const state = foldAll([...running, interrupted])
    expect(state.recovery.interruption).toEqual({ run_id: RUN, reason: 'process_exit', at: timeOf(4) })
    expect(foldAll([startedRun(OTHER_RUN)], state).recovery.interruption).toBeNull()
  })

  test('counts model requests until the model responds', () => {
    const state = foldAll([...running, asked, asked])
    expect(state.recovery.unanswered_requests).toBe(2)
    expect(foldAll([responded], state).recovery.unanswered_requests).toBe(0)
  })

  test('does not clear the latest provider state at the end of a run', () => {
    const known: NewRecord = { kind: 'provider.state', run_id: RUN, state: 'AAEC' }
    expect(foldAll([...running, known, interrupted, suspended]).provider_state).toBe('AAEC')
    expect(foldAll([...running, known, { kind: 'provider.state', state: 'AA==' }]).provider_state).toBe(
      'AA==',
    )
  })
})

describe('keys', () => {
  /** Adds a completed run with this key at this time. */
  function keyed(state: State, key: string, at: number): State {
    const run = randomUUID()
    const records = [startedRun(run, key), completedRecord(run, null)]
    return records.reduce((next, record) => {
      const seq = next.last_seq + 1
      return fold(next, placed(record, seq, new Date(at).toISOString()), locationOf(seq))
    }, state)
  }
  const DAY = 24 * 3600 * 1000
  const NOW = Date.UTC(2026, 5, 1)
  const active = foldAll([created, activated])
  const many = (from: State, count: number, at: number, prefix = 'k'): State =>
    Array.from({ length: count }).reduce<State>((state, _, i) => keyed(state, `${prefix}${i}`, at), from)

  test('have the start and the end of their latest run', () => {
    const open = foldAll([startedRun(RUN, 'k')], active)
    expect(open.keys).toEqual([{ key: 'k', seq: 3, offset: 200, started_at: timeOf(3), end: 0 }])
    expect(foldAll([interrupted], open).keys[0]?.end).toBe(400)
    const again = foldAll([interrupted, startedRun(OTHER_RUN, 'k')], open)
    expect(again.keys).toMatchObject([{ key: 'k', seq: 5, end: 0 }])
  })

  test('are dropped by number and not by age, the oldest first', () => {
    const full = many(active, limits.keysInStateMax, NOW - 400 * DAY)
    expect(full.keys).toHaveLength(limits.keysInStateMax)
    expect(full.keys_since).toBe(0)
    const next = keyed(full, 'new', NOW)
    expect(next.keys).toHaveLength(limits.keysInStateMax)
    expect(next.keys.map(({ key }) => key).slice(0, 2)).toEqual(['k1', 'k2'])
    expect(next.keys.at(-1)?.key).toBe('new')
    expect(next.keys_since).toBe(next.keys[0]?.seq)
  })

  test('are not dropped when a run uses one of them again', () => {
    const full = many(active, limits.keysInStateMax, NOW)
    const again = keyed(full, 'k0', NOW)
    expect(again.keys).toHaveLength(limits.keysInStateMax)
    expect(again.keys_since).toBe(0)
    expect(again.keys.at(-1)).toMatchObject({ key: 'k0' })
  })

  test('do not make the snapshot larger as the agent ages', () => {
    const full = many(active, limits.keysInStateMax, NOW)
    const old = many(full, 5 * limits.keysInStateMax, NOW, 'j')
    // Offsets in a longer log have more digits.
    expect(encodeSnapshot(old).length).toBeLessThan(1.2 * encodeSnapshot(full).length)
  })

  test('that look like integers are in the order of their use', () => {
    const state = ['30', '7', '1e3', '-1', '007', '7'].reduce((next, key) => keyed(next, key, NOW), active)
    expect(state.keys.map(({ key }) => key)).toEqual(['30', '1e3', '-1', '007', '7'])
    const whole = many(many(active, limits.keysInStateMax, NOW - 400 * DAY, ''), 2, NOW, 'new')
    expect(whole.keys[0]?.key).toBe('2')
  })

  test('that are named like object members are ordinary keys', () => {
    const names = ['__proto__', 'constructor', 'toString']
    expect(names.reduce((next, key) => keyed(next, key, NOW), active).keys.map(({ key }) => key)).toEqual(
      names,
    )
  })
})

describe('mail', () => {
  test('is delivered at most once', () => {
    const id = randomUUID()
    const state = foldAll([...running, mail(id)])
    expect(state.delivered).toEqual([id])
    expect(state.run?.prompts).toEqual([locationOf(4)])
    expect(() => foldAll([mail(id)], state)).toThrow(/delivered twice/)
  })

  test('leaves its id in the state, which has the last 1,000 ids at least and 2,000 at most', () => {
    const ids = Array.from({ length: 3 * limits.deliveredIdsKeptMin + 7 }, () => randomUUID())
    let state = foldAll(running)
    let least = Number.POSITIVE_INFINITY
    for (const [index, id] of ids.entries()) {
      const seq = state.last_seq + 1
      state = fold(state, placed(mail(id), seq), locationOf(seq))
      least = Math.min(least, state.delivered.length - Math.min(index + 1, limits.deliveredIdsKeptMin))
      expect(state.delivered.length).toBeLessThanOrEqual(2 * limits.deliveredIdsKeptMin)
    }
    expect(least).toBe(0)
    expect(state.delivered).toEqual(ids.slice(-state.delivered.length))
  })
})

test('folding in pieces through a snapshot gives the same state as folding at once', () => {
  const word = fc.constantFrom(
    'begin',
    'user',
    'ask',
    'respond',
    'reply',
    'end',
    'fail',
    'stop',
    'rest',
    'set',
  )
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.nat(60), fc.nat(60), (words, i, j) => {
      const records = legalRecords(words)
      const whole = foldAll(records)
      const [a, b] = [1 + (i % records.length), 1 + (j % records.length)].sort((x, y) => x - y) as [
        number,
        number,
      ]
      const through = (state: State): State => JSON.parse(JSON.stringify(state)) as State
      const first = through(foldAll(records.slice(0, a)))
      const second = b === a ? first : through(foldAll(records.slice(a, b), first))
      expect(foldAll(records.slice(b), second)).toEqual(whole)
    }),
  )
})

/** The records for these words, without those that the state machine refuses. */
function legalRecords(words: string[]): NewRecord[] {
  let state = foldAll([created])
  const records: NewRecord[] = [created]
  for (const [index, word] of words.entries()) {
    const run_id = state.run?.run_id ?? RUN
    for (const record of recordsOf(word, run_id, index)) {
      try {
        state = foldAll([record], state)
        records.push(record)
      } catch (error) {
        expect(error).toBeInstanceOf(SessionStateError)
      }
    }
  }
  return records
}

function recordsOf(word: string, run_id: string, index: number): NewRecord[] {
  switch (word) {
    case 'begin':
      return [activated, startedRun(randomUUID(), `${index % 3}`)]
    case 'user':
      return [mail(randomUUID(), run_id)]
    case 'ask':
      return [{ kind: 'model.requested', run_id }]
    case 'respond':
      return [{ kind: 'model.responded', run_id, stop: 'end' }]
    case 'reply':
      return [replied(run_id, 'x'), { kind: 'provider.state', run_id, state: 'AA==' }]
    case 'end':
      return [completedRecord(run_id, null)]
    case 'fail':
      return [{ kind: 'run.failed', run_id, error: { type: 'crashed', message: 'm' } }]
    case 'stop':
      return [{ kind: 'run.interrupted', run_id, reason: 'suspended' }]
    case 'rest':
      return [suspended]
    default:
      return [{ kind: 'session.configured', title: `t${index}`, hold: index % 2 === 0 }]
  }
}
