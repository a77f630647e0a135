/** The turns that recovery continues by itself, those that it leaves, and the agents that it visits. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { withPendingAgents } from '../../src/dispatch/pending-visits.js'
import { bootId } from '../../src/host/identity.js'
import { type ContinuePolicy, recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import type { RecoveredAgent } from '../../src/schema/output.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { deliveredRecord, keepsMarker, mailOf, posted } from '../support/mail.js'
import { type AgentFacts, beginning, newAgent, newSession, startedRun } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }
const FUTURE = '2999-01-01T00:00:00.000Z'

const stateOf = (store: FileStore, id: string): State => openForRead(store, id)?.state as State

/** An agent whose process died when these were its last records. */
async function left(
  store: FileStore,
  records: (session: Session, run: string) => NewRecord[][],
  facts: AgentFacts = {},
): Promise<string> {
  const session = await newSession(store, facts)
  for (const batch of records(session, randomUUID())) session.append(batch)
  await session.abandon()
  return session.id
}

const begun = (session: Session, run: string): NewRecord[][] => [
  [...beginning(session, run, 'hi'), { kind: 'model.requested', run_id: run }],
]

const wentOn = (run: string): NewRecord[] => [
  { kind: 'run.resumed', run_id: run, boot_id: bootId(), auto: true, attempt: 1 },
  { kind: 'model.requested', run_id: run },
]

async function recovered(store: FileStore, policy: ContinuePolicy = 'roots'): Promise<RecoveredAgent[]> {
  const { ctx } = contextAt(store, { bounds })
  const all: RecoveredAgent[] = []
  await recover(ctx, { all: true, agents: [] }, policy, (agent) => all.push(agent))
  return all
}

describe('a turn that was cut short', () => {
  test('is continued', async () => {
    const store = tempStore()
    const id = await left(store, begun)
    expect(await recovered(store)).toMatchObject([{ agent: id, row: 'C', outcome: 'continued', exit: 0 }])
    expect(stateOf(store, id).run?.status).toBe('completed')
  })

  test.each<[string, (session: Session, run: string) => NewRecord[][]]>([
    ['in vain twice', (session, run) => [...begun(session, run), wentOn(run), wentOn(run)]],
    ['on hold', (session, run) => [...begun(session, run), [{ kind: 'session.configured', hold: true }]]],
  ])('%s is not: it is ended as interrupted, once', async (_, records) => {
    const store = tempStore()
    const id = await left(store, records)
    for (let round = 0; round < 2; round++) {
      await recovered(store, 'all')
      const { run, state } = stateOf(store, id)
      expect([run?.status, run?.steps, state]).toEqual(['interrupted', 0, 'suspended'])
    }
  })

  test('is also continued if its agent works for another', async () => {
    const store = tempStore()
    const { child } = await asked(store, await newAgent(store, { name: 'lead' }))
    const found = (await recovered(store)).find(({ agent }) => agent === child)
    expect(found).toMatchObject({ outcome: 'continued', exit: 0 })
  })

  test.each(['roots', 'none', 'all'] as const)(
    'whose agent works for one on hold follows --continue %s, and no error is sent',
    async (policy) => {
      const store = tempStore()
      const { lead, child } = await asked(
        store,
        await left(store, () => [[{ kind: 'session.configured', hold: true }]], { name: 'lead' }),
      )
      for (let round = 0; round < 2; round++) {
        const found = (await recovered(store, policy)).find(({ agent }) => agent === child)
        expect(found?.outcome ?? 'clean').toBe(
          policy !== 'all' ? 'marked' : round === 0 ? 'continued' : 'clean',
        )
        const kinds = mailOf(store, lead).map(({ kind }) => kind)
        expect(kinds).toEqual(policy === 'all' ? ['response'] : [])
      }
    },
  )
})

/** A child whose process died in a turn that the other agent asked for. */
async function asked(store: FileStore, lead: string): Promise<{ lead: string; child: string }> {
  const request = (_: Session, run: string): NewRecord[][] => [
    [{ kind: 'session.activated', boot_id: bootId() }, startedRun(run), deliveredRecord(run, { from: lead })],
    [{ kind: 'model.requested', run_id: run }],
  ]
  return { lead, child: await left(store, request, { name: 'child', parent: lead }) }
}

describe('a turn that needs a person', () => {
  const shell = { call_id: 'c', name: 'shell', input: { command: 'true' } }
  const inTool = (session: Session, run: string): NewRecord[][] => [
    ...begun(session, run),
    [{ kind: 'model.responded', run_id: run, stop: 'tool_calls', calls: [shell] }],
    [{ kind: 'tool.started', run_id: run, call_id: 'c', tool: 'shell' }],
  ]
  const ended =
    (reason: 'program_alive' | 'wait_timeout' | 'unknown_tool') =>
    (session: Session, run: string): NewRecord[][] => [
      ...begun(session, run),
      [{ kind: 'run.interrupted', run_id: run, reason }],
    ]
  const inVain = (session: Session, run: string): NewRecord[][] => [
    ...begun(session, run),
    wentOn(run),
    wentOn(run),
  ]
  const onHold = (session: Session, run: string): NewRecord[][] => [
    ...begun(session, run),
    [{ kind: 'session.configured', hold: true }],
  ]
  test.each<[string, (session: Session, run: string) => NewRecord[][], RegExp]>([
    ['a tool cut short', inTool, /until a person decides: a tool call was interrupted/],
    [
      'a program that lives on',
      ended('program_alive'),
      /until a person decides: one of its programs may still/,
    ],
    [
      'an approval that never came',
      ended('wait_timeout'),
      /until a person decides: no approval, answer or result/,
    ],
    ['two attempts in vain', inVain, /not continued: 2 attempts made no progress/],
    ['a hold', onHold, /not continued: the agent is on hold/],
  ])('is reported each time with exit 6, and says why: %s', async (_, records, words) => {
    const store = tempStore()
    const id = await left(store, records)
    for (let round = 0; round < 3; round++) {
      const { ctx } = contextAt(store, { bounds })
      const told: unknown[] = []
      await recover(ctx, { all: true, agents: [] }, 'roots', (agent, _failure, said) =>
        told.push([agent, said]),
      )
      expect(told).toEqual([
        [expect.objectContaining({ agent: id, outcome: 'marked', exit: 6 }), expect.stringMatching(words)],
      ])
    }
    expect(store.visits.markedIds()).toEqual([id])
    const logged = stateOf(store, id).last_seq
    await recovered(store)
    expect(stateOf(store, id).last_seq).toBe(logged)
  })

  test('is no longer reported once a person has continued it', async () => {
    const store = tempStore()
    const id = await left(store, inTool)
    await recovered(store)
    await resume(contextAt(store, { bounds }).ctx, id, { reseed: false }, () => undefined)
    await recovered(store)
    expect(await recovered(store)).toEqual([])
  })
})

test('a run that waits for a time is not continued before it', async () => {
  const store = tempStore()
  const error = { type: 'rate_limit' as const, message: 'too many requests' }
  const id = await left(store, (session, run) => [
    ...begun(session, run),
    [
      { kind: 'model.failed', run_id: run, error, retry_in_ms: null },
      { kind: 'run.waiting', run_id: run, wait: 'not_before', not_before: FUTURE, why: error.message },
      { kind: 'session.suspended', reason: 'idle' },
    ],
  ])
  await recovered(store, 'all')
  expect(stateOf(store, id).run).toMatchObject({ status: 'open', wait: { not_before: FUTURE } })
})

describe('after a new start of the kernel', () => {
  test('every agent is looked at, with a marker or without; then the marked alone', async () => {
    const store = tempStore()
    const id = await left(store, begun)
    store.visits.unmark(id, () => false)
    const looks: string[][] = []
    const look = async (isAll: boolean): Promise<void> =>
      withPendingAgents(contextAt(store).ctx, async (ids) => {
        looks.push(ids)
        return isAll
      })
    // One that did not look at each says nothing to those who come after it.
    await look(false)
    await look(true)
    await look(true)
    expect(looks).toEqual([[id], [id], []])
  })
})

describe('an agent is owed another visit', () => {
  const owing = (_: Session, run: string): NewRecord[][] => [
    [{ kind: 'session.activated', boot_id: 'b' }, startedRun(run), deliveredRecord(run)],
    [completedRecord(run, null), { kind: 'session.suspended', reason: 'idle' }],
  ]
  const failed = (session: Session, run: string): NewRecord[][] => [
    beginning(session, run, 'hi'),
    [
      { kind: 'run.failed', run_id: run, error: { type: 'invalid', message: 'no' } },
      { kind: 'session.suspended', reason: 'idle' },
    ],
    [{ kind: 'mail.answered' }],
  ]
  test.each<[string, (session: Session, run: string) => NewRecord[][]]>([
    ['while it owes an answer', owing],
    ['while a run of it is open', begun],
    [
      'while its turn is interrupted',
      (session, run) => [
        ...begun(session, run),
        [{ kind: 'run.interrupted', run_id: run, reason: 'process_exit' }],
      ],
    ],
    [
      'while a person has to decide about its turn',
      (session, run) => [
        ...begun(session, run),
        [{ kind: 'run.interrupted', run_id: run, reason: 'unknown_tool' }, { kind: 'mail.answered' }],
      ],
    ],
    [
      'when it was poked',
      (session, run) => [
        ...failed(session, run),
        [{ kind: 'agent.poked', message_id: randomUUID(), from: 'operator' }],
      ],
    ],
    [
      'while it has a reminder',
      () => [
        [
          {
            kind: 'reminder.set',
            reminder_id: randomUUID(),
            content: 'tick',
            due_at: FUTURE,
            every_ms: null,
          },
        ],
      ],
    ],
  ])('%s', async (_, records) => {
    const store = tempStore()
    const id = await left(store, records)
    expect(keepsMarker(store, stateOf(store, id))).toBe(true)
  })

  test('while its inbox has mail, also if it is terminated; and not if there is none', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    expect(keepsMarker(store, stateOf(store, id))).toBe(false)
    posted(store, id, 'hi')
    const state = stateOf(store, id)
    expect([keepsMarker(store, state), keepsMarker(store, { ...state, state: 'terminated' })]).toEqual([
      true,
      true,
    ])
  })

  test('not after a failed turn whose error was sent', async () => {
    const store = tempStore()
    const id = await left(store, failed)
    expect(keepsMarker(store, stateOf(store, id))).toBe(false)
  })
})
