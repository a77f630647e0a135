import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SessionStateError } from '../../../src/errors.js'
import { limits } from '../../../src/limits.js'
import type { WatchedStatus } from '../../../src/schema/words.js'
import { forgetsDelivered, isDeferred } from '../../../src/session/fold/mail.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { OutboxEntry, State } from '../../../src/session/state.js'
import { completedRecord } from '../../../src/turn/step/records.js'
import { foldAll, locationOf, timeOf } from '../../support/folding.js'
import { deliveredRecord } from '../../support/mail.js'
import { createdRecord, replied, startedRun, userMessage } from '../../support/sessions.js'

const AGENT = randomUUID()
const PARENT: string = randomUUID()
const SIBLING: string = randomUUID()
const RUN: string = randomUUID()
const NEXT_RUN: string = randomUUID()
const REQUEST: string = randomUUID()

const activated: NewRecord = { kind: 'session.activated', boot_id: 'b' }
const asRoot: NewRecord[] = [createdRecord(AGENT, { name: 'a' }), activated]
const asChild: NewRecord[] = [createdRecord(AGENT, { name: 'a', parent: PARENT, path: 'top/a' }), activated]

const failed = (run_id = RUN): NewRecord => ({
  kind: 'run.failed',
  run_id,
  error: { type: 'crashed', message: 'it exited 3' },
})
const cancelled = (reason: NewRecord<'run.cancelled'>['reason']): NewRecord => ({
  kind: 'run.cancelled',
  run_id: RUN,
  reason,
})
const interrupted = (reason: NewRecord<'run.interrupted'>['reason'], run_id = RUN): NewRecord => ({
  kind: 'run.interrupted',
  run_id,
  reason,
})
const request = (from: string, message_id = REQUEST): NewRecord =>
  deliveredRecord(RUN, { from, message_id, mail_kind: 'request' })
const notification = (from: string): NewRecord => deliveredRecord(RUN, { from, mail_kind: 'notification' })

/** A run that starts with this prompt. */
const asked = (by: NewRecord[], prompt: NewRecord): NewRecord[] => [...by, startedRun(RUN), prompt]
const owed = (records: NewRecord[]): OutboxEntry[] => foldAll(records).owes
const whom = (records: NewRecord[]): [string, string, string | null][] =>
  owed(records).map(({ kind, to, reply_to }) => [kind, to, reply_to])

describe('the sender of mail', () => {
  test('receives the reply if the run completed', () => {
    const state = foldAll([
      ...asked(asChild, request(SIBLING)),
      replied(RUN, 'hello'),
      completedRecord(RUN, null),
    ])
    expect(state.owes).toEqual([
      {
        to: SIBLING,
        kind: 'response',
        reply_to: REQUEST,
        status: null,
        run_id: RUN,
        seq: 6,
        reply: locationOf(5),
        trouble: null,
      },
    ])
  })

  test('receives a response even if the run completed without a reply', () => {
    expect(owed([...asked(asChild, request(SIBLING)), completedRecord(RUN, null)])).toMatchObject([
      { kind: 'response', reply: null, trouble: null },
    ])
  })

  test.each<[string, NewRecord, object]>([
    ['failed', failed(), { status: 'failed', reason: null, error: { message: 'it exited 3' } }],
    ['was cancelled', cancelled('cancelled'), { status: 'cancelled', reason: 'cancelled', error: null }],
    ['was superseded', cancelled('superseded'), { status: 'cancelled', reason: 'superseded' }],
    ['was interrupted', interrupted('process_exit'), { status: 'interrupted', reason: 'process_exit' }],
  ])('receives an error with the reason if the run %s, and so does the parent', (_, end, trouble) => {
    const owes = owed([...asked(asChild, request(SIBLING)), replied(RUN, 'half'), end])
    expect(owes).toMatchObject([
      { to: SIBLING, kind: 'error', reply_to: REQUEST, reply: null, trouble },
      { to: PARENT, kind: 'error', reply_to: null, reply: null, trouble },
    ])
  })

  test('receives one error if it is the parent, or the operator of a root', () => {
    expect(whom([...asked(asChild, request(PARENT)), failed()])).toEqual([['error', PARENT, REQUEST]])
    expect(whom([...asked(asRoot, request('operator')), failed()])).toEqual([['error', 'operator', REQUEST]])
  })

  test('receives its own response if the run had several senders', () => {
    const other = randomUUID()
    const run = [...asked(asChild, request(SIBLING)), request(PARENT, other), replied(RUN, 'x')]
    expect(whom([...run, completedRecord(RUN, null)])).toEqual([
      ['response', SIBLING, REQUEST],
      ['response', PARENT, other],
    ])
  })

  test('receives no second response if the run replied before its end', () => {
    const run = [
      ...asked(asChild, request(SIBLING)),
      { kind: 'mail.replied', run_id: RUN, message_id: REQUEST } as NewRecord,
    ]
    expect(foldAll(run).run?.requests).toEqual([])
    expect(owed([...run, completedRecord(RUN, null)])).toEqual([])
    expect(whom([...run, failed()])).toEqual([['error', PARENT, null]])
  })

  test('receives no response unless the mail was a request', () => {
    for (const mail_kind of ['notification', 'response', 'error'] as const)
      expect(
        owed([
          ...asked(asChild, deliveredRecord(RUN, { from: SIBLING, mail_kind })),
          completedRecord(RUN, null),
        ]),
      ).toEqual([])
  })

  test('receives the reply of the continued run, even after an error for the interruption', () => {
    const before = [...asked(asChild, request(SIBLING)), interrupted('process_exit')]
    const next: NewRecord = { ...startedRun(NEXT_RUN), origin: 'continuation', continues: RUN }
    const state = foldAll([...before, { kind: 'mail.answered' }, next])
    expect(state.owes).toEqual([])
    expect(state.run).toMatchObject({
      requests: [{ message_id: REQUEST, from: SIBLING }],
      prompts: [locationOf(4)],
    })
    const after = foldAll([replied(NEXT_RUN, 'at last'), completedRecord(NEXT_RUN, null)], state)
    expect(after.owes).toMatchObject([{ to: SIBLING, kind: 'response', reply_to: REQUEST, run_id: NEXT_RUN }])
  })

  test('receives no error if the interrupted run continues before the error is sent', () => {
    const next: NewRecord = { ...startedRun(NEXT_RUN), origin: 'continuation', continues: RUN }
    const before = [...asked(asChild, request(SIBLING)), interrupted('process_exit')]
    expect(owed(before).map(({ to, kind }) => [to, kind])).toEqual([
      [SIBLING, 'error'],
      [PARENT, 'error'],
    ])
    expect(owed([...before, next])).toEqual([])
    expect(
      owed([...before, next, replied(NEXT_RUN, 'at last'), completedRecord(NEXT_RUN, null)]),
    ).toHaveLength(1)
  })

  test('receives no reply from a later run that does not continue the interrupted run', () => {
    const state = foldAll([
      ...asked(asChild, request(SIBLING)),
      interrupted('process_exit'),
      startedRun(NEXT_RUN),
      userMessage(NEXT_RUN, 'something else'),
    ])
    expect(state.run?.requests).toEqual([])
    expect(state.owes.map(({ kind }) => kind)).toEqual(['error', 'error'])
  })
})

describe('the error of an interrupted turn', () => {
  const deferred = (records: NewRecord[]): boolean[] => {
    const state = foldAll(records)
    return state.owes.map((each) => isDeferred(state, each))
  }
  const inVain: NewRecord[] = [1, 2].map((attempt) => ({
    kind: 'run.resumed',
    run_id: RUN,
    boot_id: 'b',
    auto: true,
    attempt,
  }))
  const before = asked(asChild, request(SIBLING))

  test.each(['process_exit', 'process_restart', 'shutdown'] as const)(
    'is deferred and stays owed after %s',
    (reason) => {
      expect(deferred([...before, interrupted(reason)])).toEqual([true, true])
      expect(deferred([...before, interrupted(reason), { kind: 'mail.answered' }])).toEqual([true, true])
    },
  )

  test('is deferred after suspended, and stays owed if mail.answered says so', () => {
    const paused = [...before, interrupted('suspended')]
    expect(deferred(paused)).toEqual([true, true])
    expect(deferred([...paused, { kind: 'mail.answered', deferred: true }])).toEqual([true, true])
    expect(deferred([...paused, startedRun(NEXT_RUN)])).toEqual([false, false])
    expect(deferred([...paused, { kind: 'session.terminated' }])).toEqual([false, false])
  })

  test('was sent at once after suspended by a version whose mail.answered says nothing else', () => {
    expect(foldAll([...before, interrupted('suspended'), { kind: 'mail.answered' }]).owes).toEqual([])
  })

  test.each(['unknown_tool', 'program_alive', 'wait_timeout'] as const)(
    'is due after %s, because no command continues that turn by itself',
    (reason) => expect(deferred([...before, interrupted(reason)])).toEqual([false, false]),
  )

  test('is due after two failed attempts, after another turn, and when the agent is terminated', () => {
    expect(deferred([...before, ...inVain, interrupted('process_exit')])).toEqual([false, false])
    const left = [...before, interrupted('process_exit')]
    expect(deferred([...left, startedRun(NEXT_RUN)])).toEqual([false, false])
    expect(deferred([...left, { kind: 'session.terminated' }])).toEqual([false, false])
  })

  test('does not defer other owed mail', () => {
    const watched: NewRecord = {
      kind: 'agent.watched',
      message_id: NEXT_RUN,
      from: PARENT,
      on: ['interrupted'],
      once: true,
    }
    const state = foldAll([
      ...asChild,
      watched,
      startedRun(RUN),
      request(SIBLING),
      interrupted('process_exit'),
    ])
    expect(state.owes.map((each) => [each.kind, isDeferred(state, each)])).toEqual([
      ['error', true],
      ['error', true],
      ['notification', false],
    ])
    expect(foldAll([{ kind: 'mail.answered' }], state).owes.map(({ kind }) => kind)).toEqual([
      'error',
      'error',
    ])
  })
})

describe('the parent or operator of an agent', () => {
  test('receives an error for every failed turn of a child, regardless of its sender', () => {
    for (const prompt of [userMessage(RUN, 'hi'), notification(SIBLING), request('operator')])
      expect(whom([...asked(asChild, prompt), failed()]).filter(([, to]) => to === PARENT)).toEqual([
        ['error', PARENT, null],
      ])
  })

  test('receives nothing for a successful turn', () => {
    expect(owed([...asked(asChild, userMessage(RUN, 'hi')), completedRecord(RUN, null)])).toEqual([])
    expect(owed([...asked(asRoot, userMessage(RUN, 'hi')), completedRecord(RUN, null)])).toEqual([])
  })

  test('receives the last reply of a child that is done', () => {
    const state = foldAll([
      ...asked(asChild, notification(SIBLING)),
      replied(RUN, 'that is all'),
      completedRecord(RUN, null, true),
    ])
    expect(state.isDone).toBe(true)
    expect(state.owes).toMatchObject([
      { to: PARENT, kind: 'notification', reply_to: null, reply: locationOf(5), trouble: null },
    ])
  })

  test('receives that reply only once if the parent requested it', () => {
    expect(
      whom([...asked(asChild, request(PARENT)), replied(RUN, 'x'), completedRecord(RUN, null, true)]),
    ).toEqual([['response', PARENT, REQUEST]])
  })

  test('receives no notice when a root is done', () => {
    expect(owed([...asked(asRoot, userMessage(RUN, 'hi')), completedRecord(RUN, null, true)])).toEqual([])
  })

  const KNOWN = [
    cancelled('cancelled'),
    cancelled('superseded'),
    cancelled('terminated'),
    interrupted('suspended'),
    interrupted('shutdown'),
    interrupted('process_exit'),
    interrupted('process_restart'),
  ]
  const UNKNOWN = [
    failed(),
    cancelled('turn_timeout'),
    interrupted('unknown_tool'),
    interrupted('program_alive'),
    interrupted('wait_timeout'),
  ]
  const reasonOf = (record: NewRecord): string => ('reason' in record ? record.reason : record.kind)

  test.each(UNKNOWN.map((end) => [reasonOf(end), end] as const))(
    'receives an error as the operator if a turn of a root ended with %s',
    (_, end) => {
      expect(whom([...asked(asRoot, userMessage(RUN, 'hi')), end])).toEqual([['error', 'operator', null]])
    },
  )

  test.each(KNOWN.map((end) => [reasonOf(end), end] as const))(
    'receives an error only as the parent after %s, which the operator caused or knows',
    (_, end) => {
      expect(owed([...asked(asRoot, userMessage(RUN, 'hi')), end])).toEqual([])
      expect(whom([...asked(asChild, userMessage(RUN, 'hi')), end])).toEqual([['error', PARENT, null]])
    },
  )
})

describe('a watcher', () => {
  const watched = (on: WatchedStatus[], once: boolean, from = PARENT): NewRecord => ({
    kind: 'agent.watched',
    message_id: randomUUID(),
    from,
    on,
    once,
  })
  const parked: NewRecord = { kind: 'run.waiting', run_id: RUN, wait: 'approval' }
  const notices = (state: State): [string, WatchedStatus | null][] =>
    state.owes.filter(({ status }) => status !== null).map(({ to, status }) => [to, status])
  const running = (...before: NewRecord[]): State =>
    foldAll([...asChild, ...before, startedRun(RUN), notification(SIBLING)])

  test.each<[WatchedStatus, NewRecord]>([
    ['idle', completedRecord(RUN, null)],
    ['idle', failed()],
    ['idle', cancelled('cancelled')],
    ['waiting', parked],
    ['interrupted', interrupted('process_exit')],
  ])('receives a notice of %s only if it watches that status', (status, end) => {
    const all: WatchedStatus[] = ['idle', 'waiting', 'interrupted']
    expect(notices(foldAll([end], running(watched([status], false))))).toEqual([[PARENT, status]])
    const others = all.filter((other) => other !== status)
    expect(notices(foldAll([end], running(watched(others, false))))).toEqual([])
    expect(notices(foldAll([end], running(watched(all, false))))).toEqual([[PARENT, status]])
  })

  test('receives a notice that names the subscription, the run and its last record', () => {
    const watch = watched(['idle'], false)
    const state = foldAll([completedRecord(RUN, null)], running(watch))
    expect(state.owes).toEqual([
      {
        to: PARENT,
        kind: 'notification',
        reply_to: (watch as { message_id: string }).message_id,
        status: 'idle',
        run_id: RUN,
        seq: 6,
        reply: null,
        trouble: null,
      },
    ])
  })

  test('receives one notice or every notice, as it asked', () => {
    const state = running(watched(['idle'], true), watched(['idle', 'waiting'], false, SIBLING))
    const once = foldAll([completedRecord(RUN, null)], state)
    expect(notices(once)).toEqual([
      [PARENT, 'idle'],
      [SIBLING, 'idle'],
    ])
    expect(once.watchers.map(({ from }) => from)).toEqual([SIBLING])
    const again = foldAll(
      [
        { kind: 'mail.answered' },
        startedRun(NEXT_RUN),
        userMessage(NEXT_RUN, 'x'),
        completedRecord(NEXT_RUN, null),
      ],
      once,
    )
    expect(notices(again)).toEqual([[SIBLING, 'idle']])
  })

  test('receives only the latest notice if the earlier ones were not sent', () => {
    const turns = [RUN, NEXT_RUN].map((run) => [
      startedRun(run),
      userMessage(run, 'x'),
      completedRecord(run, null),
    ])
    const state = foldAll([...asChild, watched(['idle'], false), ...turns.flat()])
    expect(notices(state)).toEqual([[PARENT, 'idle']])
    expect(state.owes).toMatchObject([{ run_id: NEXT_RUN }])
  })

  test('that watches once stays subscribed until its status occurs', () => {
    const state = foldAll([parked], running(watched(['idle'], true)))
    expect(state.owes).toEqual([])
    expect(state.watchers).toHaveLength(1)
  })

  test('has one subscription, which a new one replaces and an unwatch ends', () => {
    const state = running(watched(['idle'], false), watched(['waiting'], true))
    expect(state.watchers).toMatchObject([{ from: PARENT, on: ['waiting'], once: true }])
    const unwatched: NewRecord = { kind: 'agent.unwatched', message_id: randomUUID(), from: PARENT }
    expect(foldAll([unwatched], state).watchers).toEqual([])
    expect(foldAll([{ ...unwatched, from: SIBLING }], state).watchers).toHaveLength(1)
  })

  test('receives notices in the order of the run: waiting, then idle', () => {
    const resumed: NewRecord = {
      kind: 'run.resumed',
      run_id: RUN,
      boot_id: 'b',
      auto: false,
      attempt: 1,
    }
    const state = foldAll(
      [parked, resumed, completedRecord(RUN, null)],
      running(watched(['idle', 'waiting'], false)),
    )
    expect(notices(state)).toEqual([
      [PARENT, 'waiting'],
      [PARENT, 'idle'],
    ])
    expect(new Set(state.owes.map(({ seq }) => seq)).size).toBe(2)
  })
})

describe('owed mail', () => {
  const ended = [...asked(asChild, request(SIBLING)), replied(RUN, 'x'), completedRecord(RUN, null)]

  test('stays owed until mail.answered records that it was sent', () => {
    const state = foldAll([{ kind: 'session.suspended', reason: 'idle' }, activated], foldAll(ended))
    expect(state.owes).toHaveLength(1)
    expect(foldAll([{ kind: 'mail.answered' }], state).owes).toEqual([])
  })

  test('stays owed after session.terminated, and mail.answered can still follow', () => {
    const state = foldAll([...ended, { kind: 'session.terminated' }])
    expect(state.owes).toHaveLength(1)
    const after = foldAll([{ kind: 'mail.answered' }], state)
    expect(after).toMatchObject({ state: 'terminated', owes: [] })
    expect(() => foldAll([{ kind: 'mail.replied', run_id: RUN, message_id: REQUEST }], after)).toThrow(
      /is terminated/,
    )
  })

  test('accumulates over all runs that end before it is sent', () => {
    const state = foldAll([
      ...ended,
      startedRun(NEXT_RUN),
      deliveredRecord(NEXT_RUN, { from: SIBLING }),
      failed(NEXT_RUN),
    ])
    expect(state.owes.map(({ to, kind }) => [to, kind])).toEqual([
      [SIBLING, 'response'],
      [SIBLING, 'error'],
      [PARENT, 'error'],
    ])
  })
})

describe('a gated agent', () => {
  const control = (kind: 'agent.gated' | 'agent.ungated' | 'agent.permitted'): NewRecord => ({
    kind,
    message_id: randomUUID(),
    from: PARENT,
  })
  const gateAfter = (...kinds: Parameters<typeof control>[0][]): State['gate'] =>
    foldAll([...asChild, ...kinds.map(control)]).gate

  test('uses one permit for each turn', () => {
    expect(gateAfter('agent.gated')).toEqual({ isGated: true, permits: 0 })
    const state = foldAll([
      ...asChild,
      ...(['agent.gated', 'agent.permitted', 'agent.permitted'] as const).map(control),
    ])
    expect(state.gate.permits).toBe(2)
    const after = foldAll([startedRun(RUN), notification(SIBLING)], state)
    expect(after.gate).toEqual({ isGated: true, permits: 1 })
  })

  test('never has fewer than zero permits', () => {
    const state = foldAll([...asChild, control('agent.gated'), startedRun(RUN)])
    expect(state.gate).toEqual({ isGated: true, permits: 0 })
  })

  test('has the same permits after a second gate, and none after an ungate', () => {
    expect(gateAfter('agent.gated', 'agent.permitted', 'agent.gated').permits).toBe(1)
    expect(gateAfter('agent.gated', 'agent.permitted', 'agent.ungated')).toEqual({
      isGated: false,
      permits: 0,
    })
  })

  test('has no permits from before its gate', () => {
    expect(gateAfter('agent.permitted', 'agent.permitted', 'agent.gated')).toEqual({
      isGated: true,
      permits: 0,
    })
  })
})

describe('a poke', () => {
  const poked = (): NewRecord => ({ kind: 'agent.poked', message_id: randomUUID(), from: PARENT })
  const ran = (...end: NewRecord[]): State =>
    foldAll([...asChild, startedRun(RUN), userMessage(RUN, 'hi'), ...end, poked()])

  test.each<[string, boolean, NewRecord[]]>([
    ['failed', true, [failed()]],
    ['was cancelled', true, [cancelled('cancelled')]],
    ['was interrupted', true, [interrupted('process_exit')]],
    ['is still open', true, []],
    ['completed', false, [completedRecord(RUN, null)]],
    ['waits for an approval', false, [{ kind: 'run.waiting', run_id: RUN, wait: 'approval' }]],
  ])('after a turn that %s takes effect: %s', (_, isPoked, end) => {
    expect(ran(...end).isPoked).toBe(isPoked)
  })

  test('has no effect on an agent that never had a turn', () => {
    expect(foldAll([...asChild, poked()]).isPoked).toBe(false)
  })

  test('ends when the turn that it causes starts', () => {
    expect(foldAll([startedRun(NEXT_RUN)], ran(failed())).isPoked).toBe(false)
    const resumed: NewRecord = { kind: 'run.resumed', run_id: RUN, boot_id: 'b', auto: false, attempt: 1 }
    expect(foldAll([resumed], ran()).isPoked).toBe(false)
  })
})

describe('a reminder', () => {
  const ID = randomUUID()
  const set = (due: number, every_ms: number | null): NewRecord => ({
    kind: 'reminder.set',
    reminder_id: ID,
    content: 'stretch',
    due_at: timeOf(due),
    every_ms,
  })
  /** Record n has the time of second n. The sixth record delivers the reminder. */
  const delivered = (due: number, every_ms: number | null): State =>
    foldAll([
      ...asChild,
      set(due, every_ms),
      startedRun(RUN),
      notification(SIBLING),
      deliveredRecord(RUN, { from: AGENT, mail_kind: 'notification', reminder_id: ID }),
    ])

  test('is set once, and is removed when it is cancelled or delivered', () => {
    const state = foldAll([...asChild, set(9, null)])
    expect(state.reminders).toEqual([
      { reminder_id: ID, content: 'stretch', due_at: timeOf(9), every_ms: null, clock: null },
    ])
    expect(() => foldAll([set(9, null)], state)).toThrow(SessionStateError)
    expect(foldAll([{ kind: 'reminder.cancelled', reminder_id: ID }], state).reminders).toEqual([])
    expect(
      foldAll([{ kind: 'reminder.cancelled', reminder_id: randomUUID() }], state).reminders,
    ).toHaveLength(1)
    expect(delivered(4, null).reminders).toEqual([])
  })

  test.each([
    ['on time', 6, 10_000, 16],
    ['a little late', 5, 10_000, 15],
    ['so late that others were missed', 0, 2000, 8],
    ['late by whole periods', 2, 2000, 8],
    ['early by a clock that was set back', 60, 10_000, 70],
  ])('that repeats and is delivered %s is due again at its next time', (_, due, every, next) => {
    expect(delivered(due, every).reminders.map(({ due_at }) => due_at)).toEqual([timeOf(next)])
  })

  test('that repeats is due again in the future, after a whole number of periods', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1_000_000, max: 6 }),
        fc.integer({ min: 1, max: 100_000 }),
        (due, every) => {
          const [reminder] = delivered(due, every * 1000).reminders
          const next = Date.parse(reminder?.due_at as string)
          const now = Date.parse(timeOf(6))
          expect(next).toBeGreaterThan(now)
          expect(next - now).toBeLessThanOrEqual(every * 1000)
          expect((next - Date.parse(timeOf(due))) % (every * 1000)).toBe(0)
        },
      ),
    )
  })

  test('is not removed by other mail', () => {
    const state = foldAll([...asChild, set(4, null), startedRun(RUN), notification(SIBLING)])
    expect(state.reminders).toHaveLength(1)
  })
})

describe('a message', () => {
  test('is accepted once by its id, as mail or as a control', () => {
    const message_id = randomUUID()
    const gated: NewRecord = { kind: 'agent.gated', message_id, from: PARENT }
    const state = foldAll([...asChild, gated])
    expect(state.delivered).toEqual([message_id])
    expect(() => foldAll([gated], state)).toThrow(/delivered twice/)
    expect(() => foldAll([startedRun(RUN), deliveredRecord(RUN, { message_id })], state)).toThrow(
      /delivered twice/,
    )
    expect(() =>
      foldAll([{ kind: 'agent.watched', message_id, from: PARENT, on: ['idle'], once: true }], state),
    ).toThrow(/delivered twice/)
  })

  test('that is delivered as the result of a call is not a prompt', () => {
    const response = deliveredRecord(RUN, { from: SIBLING, mail_kind: 'response', call_id: 'call_1' })
    const state = foldAll([...asked(asChild, userMessage(RUN, 'ask it')), response])
    expect(state.run?.prompts).toEqual([locationOf(4)])
    expect(state.delivered).toHaveLength(1)
    expect(state.run?.requests).toEqual([])
  })

  test('is a separate prompt if several are delivered together', () => {
    const state = foldAll([...asked(asChild, notification(SIBLING)), notification(PARENT)])
    expect(state.run?.prompts).toEqual([locationOf(4), locationOf(5)])
  })

  test('has its id in the state until the older half of the ids is dropped and counted', () => {
    const max = 2 * limits.deliveredIdsKeptMin
    const control = (): NewRecord => ({ kind: 'agent.permitted', message_id: randomUUID(), from: PARENT })
    let state = foldAll([...asChild, ...Array.from({ length: max }, control)])
    expect(state).toMatchObject({ delivered_forgotten: 0 })
    expect([forgetsDelivered(state, 0), forgetsDelivered(state, 1)]).toEqual([false, true])
    const [oldest, newest] = [state.delivered[0], state.delivered.at(-1)]
    state = foldAll([control()], state)
    expect(state.delivered).toHaveLength(limits.deliveredIdsKeptMin + 1)
    expect(state.delivered_forgotten).toBe(limits.deliveredIdsKeptMin)
    expect(state.delivered).toContain(newest)
    expect(state.delivered).not.toContain(oldest)
    expect(forgetsDelivered(state, 1)).toBe(false)
  })

  test('is refused outside an open run', () => {
    expect(() => foldAll([...asChild, deliveredRecord(RUN)])).toThrow(/is not open/)
    expect(() => foldAll([...asChild, { kind: 'mail.replied', run_id: RUN, message_id: REQUEST }])).toThrow(
      /is not open/,
    )
  })
})

test('metadata is merged, and null removes a field', () => {
  const set = (metadata: Record<string, string | null>): NewRecord => ({
    kind: 'session.configured',
    metadata,
  })
  const state = foldAll([
    ...asChild,
    set({ progress: 'half', link: 'x' }),
    set({ link: null, verdict: 'good' }),
  ])
  expect(state.metadata).toEqual({ progress: 'half', verdict: 'good' })
  expect(foldAll([set({ nothing: null })], state).metadata).toEqual(state.metadata)
})

test('the path is fixed at creation, and a root without one has its name or id as its path', () => {
  expect(foldAll(asChild).path).toBe('top/a')
  expect(foldAll(asRoot).path).toBe('a')
  expect(foldAll([createdRecord(AGENT)]).path).toBe(AGENT)
})
