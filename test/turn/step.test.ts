import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { interrupted } from '../../src/recovery/settle.js'
import { diagnose } from '../../src/recovery/table.js'
import { deriveId } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Run, State } from '../../src/session/state.js'
import { completed, reply } from '../../src/turn/step-records.js'
import type { ProviderKind, StopReason, TurnEvent } from '../../src/turn/turn-event.js'
import { step, withRest } from '../../src/turn/step.js'
import { foldAll } from '../support/folding.js'
import { createdRecord, startedRun, userMessage } from '../support/sessions.js'

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
    run: { run_id: RUN, boot_id: 'b2', prompt, key: null, digest: null, turn_timeout_ms: null, ...over },
  }
}

const kinds = (records: NewRecord[]): string[] => records.map(({ kind }) => kind)

describe('a turn begins', () => {
  test('with the session activated, the run and its prompt; a model is named as asked, a program is not', () => {
    const model = step(born, beginning('model'))
    expect(kinds(model.records)).toEqual([
      'session.activated',
      'run.started',
      'message.user',
      'model.requested',
    ])
    expect(model.effect).toBe('ask')
    const agent = step(resting, beginning('agent'))
    expect(kinds(agent.records)).toEqual(['session.activated', 'run.started', 'message.user'])
    expect(agent.effect).toBe('ask')
  })

  test('in a session that is active already without activating it', () => {
    const active = foldAll([completed(RUN, null)], open)
    expect(kinds(step(active, beginning('agent')).records)).toEqual(['run.started', 'message.user'])
  })

  test('freezing what it was asked with', () => {
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
    const mail = {
      message_id: randomUUID(),
      from: 'operator',
      mail_kind: 'request' as const,
      content: 'hi',
      sent_at: '2026-01-01T00:00:00.000Z',
    }
    const { records } = step(born, beginning('model', { prompt: { origin: 'mail', mail } }))
    expect(records[2]).toEqual({ kind: 'mail.delivered', run_id: RUN, ...mail })
  })

  test('as the continuation of another: a model needs no new message, a program gets one', () => {
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
    { type: 'ask', provider: 'agent' },
    { records: [], effect: 'ask' },
  ],
  [
    { type: 'ask', provider: 'model' },
    { records: [{ kind: 'model.requested', run_id: RUN }], effect: 'ask' },
  ],
  [
    { type: 'go_on', provider: 'model', boot_id: 'b2', auto: true },
    {
      records: [
        { kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: true, attempt: 1 },
        { kind: 'model.requested', run_id: RUN },
      ],
      effect: 'ask',
    },
  ],
  [
    { type: 'go_on', provider: 'agent', boot_id: 'b2', auto: false },
    {
      records: [{ kind: 'run.resumed', run_id: RUN, boot_id: 'b2', auto: false, attempt: 1 }],
      effect: 'ask',
    },
  ],
  [{ type: 'launched', group }, { records: [{ kind: 'provider.started', run_id: RUN, ...group }] }],
  [
    { type: 'state_known', state: 'AA==' },
    { records: [{ kind: 'provider.state', run_id: RUN, state: 'AA==' }] },
  ],
  [
    { type: 'model_responded', reply: 'x', stop: 'length', usage },
    {
      records: [
        { kind: 'model.responded', run_id: RUN, stop: 'length', usage },
        { kind: 'message.agent', run_id: RUN, message_id: deriveId(RUN, 'reply'), content: 'x' },
        { kind: 'run.completed', run_id: RUN, usage },
      ],
    },
  ],
  [
    { type: 'agent_replied', reply: 'x' },
    { records: [reply(RUN, 'x')], effect: 'release' },
  ],
  [
    { type: 'released', state: 'AA==', usage: null },
    {
      records: [
        { kind: 'provider.state', run_id: RUN, state: 'AA==' },
        { kind: 'run.completed', run_id: RUN },
      ],
    },
  ],
  [{ type: 'released', state: null, usage }, { records: [{ kind: 'run.completed', run_id: RUN, usage }] }],
  [
    { type: 'failed', error: { type: 'crashed', message: 'm' } },
    { records: [{ kind: 'run.failed', run_id: RUN, error: { type: 'crashed', message: 'm' } }] },
  ],
  ...(['turn_timeout', 'terminated'] as const).map((reason): [TurnEvent, object] => [
    { type: 'stopped', reason, state: null },
    { records: [{ kind: 'run.cancelled', run_id: RUN, reason }] },
  ]),
  ...(['suspended', 'shutdown'] as const).map((reason): [TurnEvent, object] => [
    { type: 'stopped', reason, state: 'AA==' },
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

test('a session comes to rest with the end of its run, in one batch, and with nothing else', () => {
  const end = step(open, { type: 'failed', error: { type: 'crashed', message: 'm' } }).records
  expect(kinds(withRest(open, end))).toEqual(['run.failed', 'session.suspended'])
  expect(withRest(open, [reply(RUN, 'x')])).toEqual([reply(RUN, 'x')])
  expect(withRest(resting, end)).toEqual(end)
})

/**
 * Turns as they go in the world: the events of a provider in any order that one can bring them, a crash between any two
 * batches, and after each crash the recovery table, which goes on or marks. The fold refuses an illegal one.
 */
class World {
  state: State = born
  readonly ends = new Map<string, number>()
  readonly begun: string[] = []
  private provider: ProviderKind = 'model'

  append(records: NewRecord[]): void {
    for (const record of records) {
      if (record.kind === 'run.started') this.begun.push(record.run_id)
      if (/^run\.(completed|failed|cancelled|interrupted)$/.test(record.kind)) {
        const { run_id } = record as { run_id: string }
        this.ends.set(run_id, (this.ends.get(run_id) ?? 0) + 1)
      }
    }
    this.state = foldAll(records, this.state)
  }

  get open(): Run | undefined {
    return this.state.run?.status === 'open' ? this.state.run : undefined
  }

  take(event: TurnEvent, isLast: boolean): void {
    const { records } = step(this.state, event)
    this.append(isLast ? withRest(this.state, records) : records)
  }

  /** What the next process does, whatever the last one left. */
  recover(goesOn: boolean, knowsReply: boolean): void {
    const row = diagnose(this.state)
    const run = this.open
    if (row === 'G' && run !== undefined) this.append([completed(run.run_id, run.usage)])
    if (row === 'J' && run !== undefined)
      this.append(knowsReply ? [reply(run.run_id, 'x'), completed(run.run_id, null)] : interrupted(run))
    if ((row === 'B' || row === 'C') && run !== undefined && !goesOn) this.append(interrupted(run))
    if (this.open === undefined && this.state.state === 'active')
      this.append([{ kind: 'session.suspended', reason: 'recovery' }])
    if (this.open !== undefined)
      this.take({ type: 'go_on', provider: this.provider, boot_id: 'b3', auto: true }, false)
  }

  begin(provider: ProviderKind): void {
    this.provider = provider
    const continues = this.state.recovery.interruption?.run_id
    const prompt =
      continues === undefined
        ? { origin: 'operator', content: 'hi' }
        : { origin: 'continuation', continues, auto: true, content: provider === 'model' ? null : 'go on' }
    this.take(beginning(provider, { run_id: randomUUID(), prompt }), false)
  }

  /** The next thing that a provider of this kind may do here; others are left out. */
  event(word: string, isLast: boolean): void {
    const run = this.open
    if (run === undefined) return
    const isAnswered = run.phase === 'answered'
    if (word === 'launch' && this.provider === 'agent' && !isAnswered)
      this.take({ type: 'launched', group }, isLast)
    if (word === 'state' && this.provider === 'agent' && !isAnswered)
      this.take({ type: 'state_known', state: 'AA==' }, isLast)
    if (word === 'answer' && this.provider === 'model')
      this.take({ type: 'model_responded', reply: 'x', stop: 'end', usage }, isLast)
    if (word === 'answer' && this.provider === 'agent')
      this.take(
        isAnswered ? { type: 'released', state: null, usage } : { type: 'agent_replied', reply: 'x' },
        isLast,
      )
    if (word === 'fail' && !isAnswered)
      this.take({ type: 'failed', error: { type: 'crashed', message: 'm' } }, isLast)
    if (word.startsWith('stop:') && !isAnswered)
      this.take({ type: 'stopped', reason: word.slice(5) as StopReason, state: null }, isLast)
  }
}

const words = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('launch', 'state', 'answer', 'fail') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('stop:turn_timeout', 'stop:terminated', 'stop:suspended', 'stop:shutdown'),
  },
  { weight: 2, arbitrary: fc.constantFrom('crash', 'crash, mark', 'crash, ask') },
  { weight: 2, arbitrary: fc.constantFrom('begin model', 'begin agent') },
)

test('whatever happens in whatever order, with a crash at any batch, every run is ended exactly once', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(words, fc.boolean()), { maxLength: 40 }), (script) => {
      const world = new World()
      for (const [word, isLast] of script) {
        if (word.startsWith('crash')) world.recover(word === 'crash', word === 'crash, ask')
        else if (!word.startsWith('begin')) world.event(word, isLast)
        else if (world.open === undefined) world.begin(word === 'begin model' ? 'model' : 'agent')
      }
      world.recover(false, false)
      expect(world.open).toBeUndefined()
      expect(world.state.state).not.toBe('active')
      for (const run of world.begun) expect(world.ends.get(run)).toBe(1)
      expect(world.ends.size).toBe(world.begun.length)
    }),
    { numRuns: 500 },
  )
})
