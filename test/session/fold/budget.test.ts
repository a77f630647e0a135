import { describe, expect, test } from 'vitest'
import type { NewRecord } from '../../../src/session/records.js'
import type { State } from '../../../src/session/state.js'
import { foldAll } from '../../support/folding.js'
import { createdRecord } from '../../support/sessions.js'

const ID = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d10'
const RUN = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d11'
const SECOND = '0b9f6c1e-6f0a-4c55-9a3b-2f1f5a3c7d12'
const BOOT = 'k/1/2/3'

function begun(run_id = RUN): NewRecord[] {
  return [
    { kind: 'session.activated', boot_id: BOOT },
    {
      kind: 'run.started',
      run_id,
      boot_id: BOOT,
      origin: 'operator',
      provider: 'scripted',
      model: null,
      options: {},
    },
  ]
}

function asked(tokens: number, run_id = RUN, day = '2026-11-29'): NewRecord[] {
  return [
    { kind: 'budget.held', run_id, amounts: { tokens, turns: 1, requests: 1 }, windows: { day } },
    { kind: 'model.requested', run_id },
  ]
}

function responded(tokens: number | undefined, run_id = RUN): NewRecord[] {
  const usage = tokens === undefined ? {} : { usage: { input_tokens: tokens - 1, output_tokens: 1 } }
  return [
    { kind: 'message.agent', message_id: ID, run_id, content: 'done' },
    { kind: 'model.responded', run_id, stop: 'end', ...usage },
    { kind: 'run.completed', run_id, ...usage },
    { kind: 'session.suspended', reason: 'idle' },
  ]
}

const interrupted: NewRecord[] = [
  { kind: 'run.interrupted', run_id: RUN, reason: 'process_exit' },
  { kind: 'session.suspended', reason: 'recovery' },
]

function stateAfter(...records: NewRecord[]): State {
  return foldAll([createdRecord(ID), ...records])
}

describe('a hold', () => {
  test('is settled by what the response reports, also if that is more', () => {
    const { budget } = stateAfter(...begun(), ...asked(100), ...responded(130))
    expect(budget?.total?.spent).toMatchObject({ tokens: 130, turns: 1, requests: 1 })
    expect(budget?.hold).toBeUndefined()
  })

  test('stays as spent if the response reports nothing', () => {
    expect(stateAfter(...begun(), ...asked(100), ...responded(undefined)).budget?.total?.spent.tokens).toBe(
      100,
    )
  })

  test('stays as spent, and says so, if no response came before its process died', () => {
    const { budget } = stateAfter(...begun(), ...asked(100), ...interrupted)
    expect(budget).toMatchObject({ total: { spent: { tokens: 100 } }, unanswered: 1 })
  })

  test('is spent when the same turn asks again after a kill', () => {
    const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: BOOT, auto: true, attempt: 1 }
    const { budget } = stateAfter(...begun(), ...asked(100), resumed, ...asked(50), ...responded(20))
    expect(budget).toMatchObject({ total: { spent: { tokens: 120, requests: 2 } }, unanswered: 1 })
  })

  test('costs nothing if the service refused the request', () => {
    const refused: NewRecord = {
      kind: 'model.failed',
      run_id: RUN,
      error: { type: 'rate_limit', message: 'later' },
      retry_in_ms: 5,
    }
    const { budget } = stateAfter(...begun(), ...asked(100), refused)
    expect(budget?.total?.spent.tokens ?? 0).toBe(0)
  })

  const begunAnswers: Partial<NewRecord<'model.failed'>>[] = [
    { answer_began: true },
    { usage: { input_tokens: 3, output_tokens: 4 } },
    { model: 'm' },
  ]
  test.each(
    (['overloaded', 'rate_limit', 'billing', 'invalid', 'overflow', 'authentication'] as const).flatMap(
      (type) => begunAnswers.map((fields) => ({ type, fields })),
    ),
  )('is spent if the answer had begun before the failure $type: $fields', ({ type, fields }) => {
    const failed: NewRecord = {
      kind: 'model.failed',
      run_id: RUN,
      error: { type, message: 'stopped in the middle of its answer' },
      retry_in_ms: 5,
      ...fields,
    }
    expect(stateAfter(...begun(), ...asked(100), failed).budget?.total?.spent.tokens).toBe(100)
  })

  test('counts after a timeout as much as it held', () => {
    const late: NewRecord = {
      kind: 'model.failed',
      run_id: RUN,
      error: { type: 'timeout', message: 'late' },
      retry_in_ms: 5,
      usage: { input_tokens: 3, output_tokens: 4 },
    }
    expect(stateAfter(...begun(), ...asked(100), late).budget?.total?.spent.tokens).toBe(100)
  })
})

describe('a window', () => {
  test('begins at nothing when its id rises, and the total goes on', () => {
    const { budget } = stateAfter(
      ...begun(),
      ...asked(100),
      ...responded(30),
      ...begun(SECOND),
      ...asked(100, SECOND, '2026-11-30'),
      ...responded(5, SECOND),
    )
    expect(budget?.day).toMatchObject({ id: '2026-11-30', spent: { tokens: 5 } })
    expect(budget?.total?.spent.tokens).toBe(35)
  })

  test('does not come back once a later day has begun', () => {
    const { budget } = stateAfter(
      ...begun(),
      ...asked(100),
      ...responded(30),
      ...begun(SECOND),
      ...asked(100, SECOND, '2026-11-28'),
      ...responded(5, SECOND),
    )
    expect(budget?.day).toMatchObject({ id: '2026-11-29', spent: { tokens: 35 } })
  })
})

test('cached input counts with its weight', () => {
  const usage = { input_tokens: 1000, output_tokens: 10, cache_read_tokens: 900 }
  const held: NewRecord = {
    kind: 'budget.held',
    run_id: RUN,
    amounts: { tokens: 5000, requests: 1 },
    windows: {},
    cached_weight: 0.1,
  }
  const { budget } = stateAfter(
    ...begun(),
    held,
    { kind: 'model.requested', run_id: RUN },
    { kind: 'message.agent', message_id: ID, run_id: RUN, content: 'done' },
    { kind: 'model.responded', run_id: RUN, stop: 'end', usage },
  )
  expect(budget?.total?.spent.tokens).toBe(200)
})

test('a grant is added in its windows', () => {
  const { budget } = stateAfter(...begun(), {
    kind: 'budget.granted',
    run_id: RUN,
    amounts: { tokens: 7 },
    windows: { day: '2026-11-29' },
  })
  expect(budget).toMatchObject({ total: { granted: { tokens: 7 } }, day: { granted: { tokens: 7 } } })
})

test('a freed turn stays free in each run that continues it, and no other run is free', () => {
  const freed: NewRecord = { kind: 'budget.granted', run_id: RUN, once: true }
  const [activated, started] = begun(SECOND) as [NewRecord, NewRecord<'run.started'>]
  const killed = [...begun(), freed, ...asked(100), ...interrupted]
  const continued = stateAfter(...killed, activated, { ...started, origin: 'continuation', continues: RUN })
  expect(continued.budget?.free_run).toBe(SECOND)
  expect(stateAfter(...killed, activated, started).budget?.free_run).toBe(RUN)
})

test('a copy has the caps and none of the use', () => {
  const copied: NewRecord = { kind: 'session.imported', from: ID, home_id: ID, bundle_id: ID }
  const caps: NewRecord = { kind: 'session.configured', budget: [{ unit: 'turns', max: 3 }] }
  expect(stateAfter(caps, ...begun(), ...asked(100), ...responded(30), copied).budget).toEqual({
    caps: [{ unit: 'turns', max: 3 }],
  })
})

test('an agent without a cap over it counts nothing', () => {
  expect(
    stateAfter(...begun(), { kind: 'model.requested', run_id: RUN }, ...responded(30)).budget,
  ).toBeUndefined()
})
