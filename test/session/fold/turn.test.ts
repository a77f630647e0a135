import { describe, expect, test } from 'vitest'
import { SessionStateError } from '../../../src/errors.js'
import { limits } from '../../../src/limits.js'
import { deriveId } from '../../../src/session/ids.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { Call, State } from '../../../src/session/state.js'
import { foldAll, locationOf, timeOf } from '../../support/folding.js'
import { deliveredRecord } from '../../support/mail.js'
import { createdRecord, replied, startedRun, userMessage } from '../../support/sessions.js'

const AGENT = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const RUN = '1b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const NEXT = '2b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const TOKEN = '3b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const GROUP = { process_group: 10, start_time: 20, kernel_boot_id: 'k', pid_namespace: '1' }
const open = foldAll([
  createdRecord(AGENT),
  { kind: 'session.activated', boot_id: 'b' },
  startedRun(RUN),
  userMessage(RUN, 'hi'),
])
const asked: NewRecord = { kind: 'model.requested', run_id: RUN }

const responded = (...tools: string[]): NewRecord => ({
  kind: 'model.responded',
  run_id: RUN,
  stop: 'tool_calls',
  calls: tools.map((name, index) => ({ call_id: `c${index}`, name, input: {} })),
})
const started = (call_id: string, run_id = RUN): NewRecord => ({
  kind: 'tool.started',
  run_id,
  call_id,
  tool: 'shell',
  group: GROUP,
})
const finished = (call_id: string, run_id = RUN): NewRecord => ({
  kind: 'tool.finished',
  run_id,
  call_id,
  tool: 'shell',
  content: '',
  is_error: false,
})
const minted = (token_id = TOKEN, run_id = RUN): NewRecord => ({
  kind: 'token.minted',
  run_id,
  token_id,
  hash: 'h',
  expires_at: timeOf(1000),
})
const waiting: NewRecord = {
  kind: 'run.waiting',
  run_id: RUN,
  wait: 'approval',
  asks: [{ call_id: 'c0', tool: 'shell', input: {} }],
  token_id: TOKEN,
  deadline_at: timeOf(1000),
}
const consumed = (decision: 'approve' | 'deny' = 'approve'): NewRecord => ({
  kind: 'token.consumed',
  run_id: RUN,
  token_id: TOKEN,
  decision,
  digest: 'd',
})
const resumed: NewRecord = {
  kind: 'run.resumed',
  run_id: RUN,
  boot_id: 'b2',
  auto: false,
  attempt: 1,
  token_id: TOKEN,
}
const on = (...records: NewRecord[]): State => foldAll(records, open)
const statuses = (state: State): Call['status'][] => state.run?.calls.map(({ status }) => status) ?? []

describe('a call', () => {
  test('is pending, then started with its process group, then finished', () => {
    const called = on(asked, responded('shell'))
    expect(called.run).toMatchObject({ phase: 'calling', steps: 1, calls_at: locationOf(6) })
    expect(statuses(called)).toEqual(['pending'])
    const running = foldAll([started('c0')], called)
    expect(running.run?.calls[0]).toMatchObject({ status: 'started', group: GROUP })
    const done = foldAll([finished('c0')], running)
    expect(done.run?.calls[0]).toMatchObject({ status: 'finished', group: null })
  })

  test('can finish without a start if it was denied or its tool does not exist', () => {
    expect(statuses(on(asked, responded('shell'), finished('c0')))).toEqual(['finished'])
  })

  test('starts once, has one result and belongs to the latest response', () => {
    const called = on(asked, responded('shell', 'shell'))
    for (const twice of [
      [started('c0'), started('c0')],
      [finished('c0'), finished('c0')],
      [finished('c0'), started('c0')],
      [started('c9')],
      [finished('c9')],
      [started('c0', NEXT)],
    ])
      expect(() => foldAll(twice, called)).toThrow(SessionStateError)
  })

  test('that exceeded its time limit is noted once a run, and only for a request of the parent', () => {
    const late = { ...finished('c0'), timed_out: true } as NewRecord
    const [first, second] = [late, { ...late, call_id: 'c1' } as NewRecord]
    const calls = [asked, responded('shell', 'shell')]
    expect(on(...calls, first).timed_out).toBeUndefined()
    const childOf = { ...createdRecord(AGENT), parent: NEXT } as NewRecord
    const start: NewRecord[] = [childOf, { kind: 'session.activated', boot_id: 'b' }, startedRun(RUN)]
    const requested = foldAll([...start, deliveredRecord(RUN, { from: NEXT }), ...calls, first])
    expect(requested.timed_out).toBe(requested.last_seq)
    expect(foldAll([second], requested).timed_out).toBe(requested.last_seq)
  })

  test('by a program starts once and has one result', () => {
    const call: NewRecord = {
      ...started('c0'),
      kind: 'tool.started',
      tool: 'send_message',
      input: {},
    } as NewRecord
    const calling = on(asked, call)
    expect(calling.run?.program_calls).toEqual([{ call_id: 'c0', tool: 'send_message' }])
    expect(() => foldAll([call], calling)).toThrow(SessionStateError)
    const done = foldAll([finished('c0')], calling)
    expect(done.run?.program_calls).toEqual([])
    expect(() => foldAll([finished('c0')], done)).toThrow(SessionStateError)
  })

  test('from an earlier response is dropped when the model responds again', () => {
    const state = on(asked, responded('shell'), finished('c0'), asked, responded('shell', 'shell'))
    expect(statuses(state)).toEqual(['pending', 'pending'])
    expect(state.run?.steps).toBe(2)
  })

  test('has a unique id within its response', () => {
    const twice = { call_id: 'c', name: 'shell', input: {} }
    expect(() => on(asked, { ...responded(), calls: [twice, twice] } as NewRecord)).toThrow(SessionStateError)
  })

  test('left by an interrupted run belongs to the run that continues it, with the same input', () => {
    const state = on(
      asked,
      responded('shell', 'shell'),
      finished('c0'),
      { kind: 'run.interrupted', run_id: RUN, reason: 'shutdown' },
      { ...startedRun(NEXT), continues: RUN },
    )
    expect(state.run).toMatchObject({ run_id: NEXT, phase: 'calling', calls_at: locationOf(6), steps: 0 })
    expect(statuses(foldAll([finished('c1', NEXT)], state))).toEqual(['finished', 'finished'])
  })

  test('with a result is not carried over into the next run', () => {
    const state = on(
      asked,
      responded('shell'),
      finished('c0'),
      { kind: 'run.completed', run_id: RUN },
      startedRun(NEXT),
    )
    expect(state.run).toMatchObject({ phase: 'started', calls: [], calls_at: null })
  })
})

describe('a wait', () => {
  const parked = on(asked, responded('shell', 'write_file'), minted(), waiting)

  test('belongs to the run until the run is resumed', () => {
    expect(parked.run?.wait).toMatchObject({ kind: 'approval', resume_token_id: TOKEN, call_ids: ['c0'] })
    expect(foldAll([consumed(), resumed], parked).run?.wait).toBeNull()
  })

  test('that is approved allows only its own calls', () => {
    const state = foldAll([consumed(), resumed], parked)
    expect(state.run?.calls.map(({ isApproved }) => isApproved)).toEqual([true, false])
  })

  test('that is denied, or resumed without a decision, allows no call', () => {
    for (const state of [
      foldAll([consumed('deny'), resumed], parked),
      foldAll([{ kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: true, attempt: 1 }], parked),
    ])
      expect(state.run?.calls.map(({ isApproved }) => isApproved)).toEqual([false, false])
  })

  test('for a time does not count as an attempt when it ends', () => {
    const limited = on(asked, { kind: 'run.waiting', run_id: RUN, wait: 'not_before', not_before: timeOf(9) })
    const auto: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: true, attempt: 1 }
    expect(foldAll([auto], limited).recovery.barren_attempts).toBe(0)
    expect(on(asked, auto).recovery.barren_attempts).toBe(1)
  })

  test('ends with its run', () => {
    expect(
      foldAll([{ kind: 'run.cancelled', run_id: RUN, reason: 'superseded' }], parked).run?.wait,
    ).toBeNull()
  })
})

describe('a token', () => {
  const parked = on(asked, responded('shell'), minted(), waiting)
  const revoked: NewRecord = { kind: 'token.revoked', run_id: RUN, token_id: TOKEN, reason: 'rotated' }

  test('is consumed or revoked once, and neither after the other', () => {
    for (const [first, second] of [
      [consumed(), consumed()],
      [consumed(), revoked],
      [revoked, consumed()],
      [revoked, revoked],
    ] as [NewRecord, NewRecord][])
      expect(() => foldAll([first, second], parked)).toThrow(/already/)
  })

  test('is minted once, for the latest run, before it is used', () => {
    expect(() => foldAll([minted()], parked)).toThrow(/minted twice/)
    expect(() => on(minted(TOKEN, NEXT))).toThrow(SessionStateError)
    expect(() => on(consumed())).toThrow(/never minted/)
  })

  test('has the decision and digest that it was used with, and the location of its run', () => {
    const [token] = foldAll([consumed()], parked).tokens
    expect(token).toMatchObject({ status: 'consumed', decision: 'approve', digest: 'd', run_id: RUN })
    expect(token?.run).toEqual({ seq: 3, offset: locationOf(3).offset, started_at: timeOf(3), end: 0 })
  })

  test('stays in the state up to a maximum number, and the oldest is dropped first', () => {
    const ids = Array.from({ length: limits.tokensKept + 1 }, (_, n) => deriveId(String(n)))
    const { tokens } = on(...ids.map((id) => minted(id)))
    expect(tokens.map(({ token_id }) => token_id)).toEqual(ids.slice(1))
  })
})

describe('a failed request', () => {
  const failed: NewRecord = {
    kind: 'model.failed',
    run_id: RUN,
    error: { type: 'overloaded', message: 'm' },
    retry_in_ms: 1,
  }

  test('counts until the model responds or the run is resumed', () => {
    const twice = on(asked, failed, asked, failed)
    expect(twice.run).toMatchObject({ phase: 'started', failures: 2 })
    expect(twice.recovery.unanswered_requests).toBe(2)
    expect(foldAll([asked, responded('shell')], twice)).toMatchObject({
      run: { failures: 0 },
      recovery: { unanswered_requests: 0 },
    })
    const auto: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: true, attempt: 1 }
    expect(foldAll([auto], twice).run?.failures).toBe(0)
  })
})

test('the usage of a run is the sum over its responses', () => {
  const usage = { input_tokens: 1, output_tokens: 2 }
  const first = { ...responded('shell'), usage } as NewRecord
  const last: NewRecord[] = [
    replied(RUN, 'x', 1),
    { kind: 'model.responded', run_id: RUN, stop: 'end', usage },
  ]
  expect(on(asked, first, finished('c0'), asked, ...last).run?.usage).toEqual({
    input_tokens: 2,
    output_tokens: 4,
  })
})

test('the cached tokens, reasoning tokens and costs of a run are added up, also if one response lacks them', () => {
  const parts = { cache_read_tokens: 3, cache_write_tokens: 4, reasoning_tokens: 5, cost_usd: 0.1 }
  const counts = { input_tokens: 1, output_tokens: 2 }
  const used = (usage: object): NewRecord => ({ ...responded('shell'), usage }) as NewRecord
  const costly = used({ ...counts, ...parts, cost_usd: 0.2 })
  const run = on(used({ ...counts, ...parts }), finished('c0'), costly, finished('c0'), used(counts)).run
  expect(run?.usage).toEqual({
    input_tokens: 3,
    output_tokens: 6,
    cache_read_tokens: 6,
    cache_write_tokens: 8,
    reasoning_tokens: 10,
    cost_usd: 0.3,
  })
})

const compacted: NewRecord = {
  kind: 'context.compacted',
  run_id: RUN,
  content: 'the gist',
  how: 'summary',
  keeps_seq: 4,
  keeps_offset: 300,
  messages: 1,
  responses: 0,
}

test('a run that has compacted its conversation stays so, also after later records', () => {
  const later = [asked, responded('shell'), started('c0'), finished('c0'), asked]
  for (let count = 1; count <= later.length; count++)
    expect(on(compacted, ...later.slice(0, count)).run?.isCompacted).toBe(true)
})

test('a compaction moves the start of the context and marks the run as compacted', () => {
  const state = on(asked, compacted)
  expect(state).toMatchObject({ context_seq: 4, context_offset: 300, compaction: locationOf(6) })
  expect(state.run?.isCompacted).toBe(true)
})

test('the tool servers of another kernel boot do not belong to a continued run', () => {
  const server = (kernel_boot_id: string): NewRecord => ({
    kind: 'server.started',
    run_id: RUN,
    server: 'notes',
    group: { ...GROUP, kernel_boot_id },
  })
  const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'k2/1/2/3', auto: true, attempt: 1 }
  const state = on(asked, server('k1'), server('k2'), resumed)
  expect(state.run?.servers.map(({ kernel_boot_id }) => kernel_boot_id)).toEqual(['k2'])
})

test('programs are gone only for the latest run, if it was interrupted because of another host', () => {
  const gone = (run_id: string): NewRecord => ({ kind: 'run.programs_gone', run_id, by: 'person' })
  const left: NewRecord = {
    kind: 'run.interrupted',
    run_id: RUN,
    reason: 'other_host',
    left: [GROUP],
    host_id: 'h',
  }
  const state = on(asked, left)
  expect(state.run?.left).toEqual({ groups: [GROUP], checked_by: 'h' })
  const { run, recovery } = foldAll([gone(RUN)], state)
  expect([run?.reason, run?.left, recovery.interruption?.reason]).toEqual([
    'process_exit',
    undefined,
    'process_exit',
  ])
  expect(() => foldAll([gone(NEXT)], state)).toThrow('no programs on another host')
  expect(() => foldAll([gone(RUN), gone(RUN)], state)).toThrow('no programs on another host')
})

test('the tool servers of a run stay in the state until the next run starts, because they stop after its end', () => {
  const server: NewRecord = { kind: 'server.started', run_id: RUN, server: 'notes', group: GROUP }
  const ended = on(server, { kind: 'run.completed', run_id: RUN })
  expect(ended.run?.servers).toEqual([GROUP])
  expect(foldAll([startedRun(NEXT)], ended).run?.servers).toEqual([])
})
