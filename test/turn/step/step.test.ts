import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { deriveId } from '../../../src/session/ids.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { State } from '../../../src/session/state.js'
import { completedRecord } from '../../../src/turn/step/records.js'
import { step as stepWith, withSuspension } from '../../../src/turn/step/step.js'
import type { ProviderKind, Step, TurnEvent } from '../../../src/turn/step/turn-event.js'
import { foldAll } from '../../support/folding.js'
import { createdRecord, replied, startedRun, userMessage } from '../../support/sessions.js'
import { POLICY } from '../../support/turns.js'

const AGENT: string = randomUUID()
const RUN: string = randomUUID()
const born = foldAll([createdRecord(AGENT)])
const resting = foldAll(
  [
    { kind: 'session.activated', boot_id: 'b' },
    { kind: 'session.suspended', reason: 'idle' },
  ],
  born,
)
const open = foldAll(
  [{ kind: 'session.activated', boot_id: 'b' }, startedRun(RUN), userMessage(RUN, 'hi')],
  born,
)
const usage = { input_tokens: 1, output_tokens: 2 }
const group = { process_group: 10, start_time: 20, kernel_boot_id: 'k', pid_namespace: '1' }

function beginning(provider: ProviderKind, over: object = {}): TurnEvent {
  const prompt = { origin: 'operator' as const, content: 'hi' }
  return {
    type: 'begin',
    provider,
    run: {
      run_id: RUN,
      boot_id: 'b2',
      prompt,
      key: null,
      digest: null,
      turn_timeout_ms: null,
      allow: [],
      steps_max: null,
      sources: [],
      ...over,
    },
  }
}

const step = (state: State, event: TurnEvent): Step => stepWith(state, event, POLICY)

const kinds = (records: NewRecord[]): string[] => records.map(({ kind }) => kind)

describe('a turn begins', () => {
  test('by activating the session and recording the run with its prompt; only a model also has a request recorded', () => {
    const model = step(born, beginning('model'))
    expect(kinds(model.records)).toEqual([
      'session.activated',
      'run.started',
      'message.user',
      'model.requested',
    ])
    expect(model.effect).toEqual({ type: 'ask' })
    const agent = step(resting, beginning('agent'))
    expect(kinds(agent.records)).toEqual(['session.activated', 'run.started', 'message.user'])
    expect(agent.effect).toEqual({ type: 'ask' })
  })

  test('without an activation in a session that is active already', () => {
    const active = foldAll([completedRecord(RUN, null)], open)
    expect(kinds(step(active, beginning('agent')).records)).toEqual(['run.started', 'message.user'])
  })

  test('with its settings recorded in the run', () => {
    const { records } = step(born, beginning('agent', { key: 'k', digest: 'd', turn_timeout_ms: 5 }))
    expect(records[1]).toMatchObject({
      key: 'k',
      digest: 'd',
      turn_timeout_ms: 5,
      provider: 'scripted',
      boot_id: 'b2',
    })
    expect(records[2]).toMatchObject({
      message_id: deriveId(RUN, 'prompt'),
      content: 'hi',
      origin: 'operator',
    })
  })

  test('with mail delivered in the same batch', () => {
    const mails = ['hi', 'ho'].map((content) => ({
      message_id: randomUUID(),
      from: 'operator',
      mail_kind: 'notification' as const,
      content,
      sent_at: '2026-01-01T00:00:00.000Z',
    }))
    const { records } = step(born, beginning('model', { prompt: { origin: 'mail', mails } }))
    expect(records.slice(2, -1)).toEqual(
      mails.map((mail) => ({ kind: 'mail.delivered', run_id: RUN, ...mail })),
    )
  })

  test('as the continuation of another: without a new message for a model, with one for a program', () => {
    const going = (content: string | null): NewRecord[] =>
      step(
        born,
        beginning('agent', { prompt: { origin: 'continuation', continues: AGENT, auto: true, content } }),
      ).records
    expect(kinds(going(null))).toEqual(['session.activated', 'run.started'])
    expect(going('go on')[2]).toMatchObject({
      kind: 'message.user',
      origin: 'continuation',
      content: 'go on',
    })
    expect(going(null)[1]).toMatchObject({ continues: AGENT, auto: true })
  })
})

const EVENTS: [TurnEvent, object][] = [
  [
    { type: 'ask', provider: 'agent', sources: [] },
    { records: [], effect: { type: 'ask' } },
  ],
  [
    { type: 'ask', provider: 'model', sources: [] },
    { records: [{ kind: 'model.requested', run_id: RUN }], effect: { type: 'ask' } },
  ],
  [
    { type: 'go_on', provider: 'model', boot_id: 'b2', auto: true, notice: null, sources: [] },
    {
      records: [
        { kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: true, attempt: 1 },
        { kind: 'model.requested', run_id: RUN },
      ],
      effect: { type: 'ask' },
    },
  ],
  [
    { type: 'go_on', provider: 'agent', boot_id: 'b2', auto: false, notice: null, sources: [] },
    {
      records: [{ kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: false, attempt: 1 }],
      effect: { type: 'ask' },
    },
  ],
  [{ type: 'launched', group }, { records: [{ kind: 'provider.started', run_id: RUN, ...group }] }],
  [
    { type: 'state_known', state: 'AA==' },
    { records: [{ kind: 'provider.state', run_id: RUN, state: 'AA==' }] },
  ],
  [
    { type: 'model_responded', reply: 'x', stop: 'length', usage, calls: [] },
    {
      records: [
        { kind: 'message.agent', run_id: RUN, message_id: deriveId(RUN, 'reply', '0'), content: 'x' },
        { kind: 'model.responded', run_id: RUN, stop: 'length', usage },
        { kind: 'run.completed', run_id: RUN, usage },
      ],
    },
  ],
  [{ type: 'agent_replied', reply: 'x' }, { records: [replied(RUN, 'x')] }],
  [
    { type: 'released', state: 'AA==', terminates: false },
    {
      records: [
        { kind: 'provider.state', run_id: RUN, state: 'AA==' },
        { kind: 'run.completed', run_id: RUN },
      ],
    },
  ],
  [
    { type: 'released', state: null, usage, terminates: false },
    { records: [{ kind: 'run.completed', run_id: RUN, usage }] },
  ],
  [
    { type: 'released', state: null, terminates: true },
    { records: [{ kind: 'run.completed', run_id: RUN, terminates: true }] },
  ],
  [
    { type: 'failed', error: { type: 'crashed', message: 'm' } },
    { records: [{ kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'm' } }] },
  ],
  ...(['turn_timeout', 'terminated'] as const).map((reason): [TurnEvent, object] => [
    { type: 'stopped', reason, state: null, result: null },
    { records: [{ kind: 'run.cancelled', run_id: RUN, reason }] },
  ]),
  ...(['suspended', 'shutdown'] as const).map((reason): [TurnEvent, object] => [
    { type: 'stopped', reason, state: 'AA==', result: null },
    {
      records: [
        { kind: 'provider.state', run_id: RUN, state: 'AA==' },
        { kind: 'run.interrupted', run_id: RUN, reason },
      ],
    },
  ]),
]

describe('in an open run', () => {
  test.each(EVENTS)('%j', (event, expected) => {
    expect(step(open, event)).toEqual(expected)
    expect(() => step(resting, event)).toThrow(/open run/)
  })
})

test('a call stopped between its record and its run has a result, unless it can run again', () => {
  const calls = ['shell', 'read_file', 'write_file'].map((name, n) => ({ call_id: `c${n}`, name, input: {} }))
  const calling = foldAll(
    [
      { kind: 'model.requested', run_id: RUN },
      { kind: 'model.responded', run_id: RUN, stop: 'tool_calls', calls },
      { kind: 'tool.started', run_id: RUN, call_id: 'c0', tool: 'shell', group },
      { kind: 'tool.started', run_id: RUN, call_id: 'c1', tool: 'read_file' },
    ],
    open,
  )
  const stopped = { type: 'stopped', reason: 'shutdown', state: null, result: null } as const
  expect(step(calling, stopped).records).toMatchObject([
    { kind: 'tool.finished', call_id: 'c0', is_error: true },
    { kind: 'run.interrupted', reason: 'shutdown' },
  ])
})

test('only the end of a run suspends its session, in the same batch', () => {
  const end = step(open, { type: 'failed', error: { type: 'crashed', message: 'm' } }).records
  expect(kinds(withSuspension(open, end))).toEqual(['run.failed', 'session.suspended'])
  expect(withSuspension(open, [replied(RUN, 'x')])).toEqual([replied(RUN, 'x')])
  expect(withSuspension(resting, end)).toEqual(end)
})
