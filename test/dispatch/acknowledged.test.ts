/** Outcomes that a command reports without a turn of its own: each is durable first, and reported once. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { queue } from '../../src/operations/message/queue.js'
import type { MessageRequest } from '../../src/operations/message/request.js'
import { spawn } from '../../src/operations/spawn.js'
import { digestOf } from '../../src/session/ids.js'
import { openForRead } from '../../src/session/load.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { completedRecord } from '../../src/turn/step/records.js'
import { contextAt } from '../support/contexts.js'
import { mailOf } from '../support/mail.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent, newSession, reopen, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const bounds = { slotsMax: 4, waitMs: 3_600_000, turnTimeoutMs: 3_600_000 }

const request = (agentId: string, over: Partial<MessageRequest> = {}): MessageRequest =>
  sendRequest(agentId, { key: 'k', ...over })

/** An agent that has had the message of the key, and whose process died before it wrote a snapshot. */
async function answeredAgent(store: FileStore, end = answered): Promise<string> {
  const session = await newSession(store)
  const run = randomUUID()
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(run, 'k'), digest: digestOf('hi') },
    userMessage(run, 'hi'),
  ])
  session.append(end(run))
  await session.abandon()
  return session.id
}

/** A child in a turn that its parent asked for with the key. */
async function askedChild(
  store: FileStore,
): Promise<{ from: string; to: string; run: string; session: Session }> {
  const from = await newAgent(store, { name: 'lead' })
  const to = await newAgent(store, { name: 'child', parent: from })
  const session = await reopen(store, to)
  const run: string = randomUUID()
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(run, `${from} k`), digest: digestOf('hi') },
    userMessage(run, 'hi'),
  ])
  return { from, to, run, session }
}

function answered(run: string): NewRecord[] {
  return [replied(run, 'the answer'), completedRecord(run, null)]
}

async function sent(store: FileStore, message: MessageRequest): Promise<Outcome> {
  const { ctx } = contextAt(store, { bounds })
  const outcomes: Outcome[] = []
  await deliverMessage(ctx, message, (outcome) => outcomes.push(outcome))
  expect(outcomes).toHaveLength(1)
  return outcomes[0] as Outcome
}

describe('a key that was answered', () => {
  test.each(['send', 'queue'])('%s syncs what it has read before it tells the reply', async (command) => {
    const store = tempStore()
    const id = await answeredAgent(store)
    const { ctx } = contextAt(store, { bounds })
    const operations = recordOperations()
    const told: { outcome: Outcome; isSynced: boolean }[] = []
    const tell = (outcome: Outcome): void => {
      told.push({ outcome, isSynced: operations.some(({ point }) => point === 'log.sync_read') })
    }
    if (command === 'send') await deliverMessage(ctx, request(id), tell)
    else tell(queue(ctx, request(id)))
    clearFaults()
    expect(told.map(({ outcome, isSynced }) => [outcome.result.reply, isSynced])).toEqual([
      ['the answer', true],
    ])
  })

  test('is refused with another message, and stored no second time', async () => {
    const store = tempStore()
    const id = await answeredAgent(store)
    const { ctx } = contextAt(store, { bounds })
    expect(() => queue(ctx, request(id, { content: 'another' }))).toThrow(
      expect.objectContaining({ code: 'KEY_CONFLICT' }),
    )
    expect(store.mail.ids(id)).toEqual([])
  })
})

describe('a key whose turn failed', () => {
  const failed = (run: string): NewRecord[] => [
    { kind: 'run.failed', run_id: run, error: { type: 'invalid', message: 'it refused' } },
  ]

  test('gives the same error; with --retry the message is taken again', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, failed)
    expect((await sent(store, request(id))).failure?.code).toBe('PROVIDER_FAILED')
    expect((await sent(store, request(id, { retry: true }))).result.reply).toBe('echo: hi')
  })
})

describe('a key whose turn came to an end without a reply', () => {
  const cancelled = (reason: NewRecord<'run.cancelled'>['reason']) => (run: string) => [
    { kind: 'run.cancelled' as const, run_id: run, reason },
  ]

  test.each([
    ['cancelled', 'CANCELLED'],
    ['superseded', 'CANCELLED'],
    ['turn_timeout', 'TIMED_OUT'],
  ] as const)('returns the same outcome if it was %s: only --retry runs it again', async (reason, code) => {
    const store = tempStore()
    const id = await answeredAgent(store, cancelled(reason))
    const again = [request(id), request(id, { isQueued: true }), request(id, { ifWaiting: 'fail' })]
    for (const each of again) {
      const { failure, result } = await sent(store, each)
      expect([failure?.code, failure?.hint, result.run?.status]).toEqual([
        code,
        expect.stringContaining('to run it again: substrat retry'),
        'cancelled',
      ])
    }
    expect([timesAsked(store, id), store.mail.ids(id)]).toEqual([1, []])
    expect((await sent(store, request(id, { retry: true }))).result.reply).toBe('echo: hi')
    expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
    expect(timesAsked(store, id)).toBe(2)
  })

  test('a person was to decide, and did not: after another message replaced it, the error says so', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, (run) => [
      { kind: 'run.interrupted', run_id: run, reason: 'wait_timeout' },
    ])
    await sent(store, request(id, { content: 'another', key: null }))
    const { failure, result } = await sent(store, request(id))
    expect([failure?.code, failure?.hint, result.reply]).toEqual([
      'INTERRUPTED',
      expect.stringContaining('--retry'),
      null,
    ])
    expect(timesAsked(store, id)).toBe(2)
    expect((await sent(store, request(id, { retry: true }))).result.reply).toBe('echo: hi')
  })

  test('but --retry continues one after two attempts without progress', async () => {
    const store = tempStore()
    const again = (run: string, attempt: number): NewRecord[] => [
      { kind: 'model.requested', run_id: run },
      { kind: 'run.resumed', run_id: run, boot_id: 'b', auto: true, attempt },
    ]
    const id = await answeredAgent(store, (run) => [...again(run, 1), ...again(run, 2)])
    for (let call = 0; call < 2; call++)
      expect((await sent(store, request(id))).failure?.code).toBe('INTERRUPTED')
    expect((await sent(store, request(id, { retry: true }))).result.reply).toBe('echo: hi')
    expect(timesAsked(store, id)).toBe(1)
  })

  test.each(['shutdown', 'process_exit', 'wait_timeout'] as const)(
    'but one that can be continued (%s) is continued',
    async (reason) => {
      const store = tempStore()
      const id = await answeredAgent(store, (run) => [{ kind: 'run.interrupted', run_id: run, reason }])
      expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
      expect(timesAsked(store, id)).toBe(1)
    },
  )

  test('is not taken from the inbox, where it was queued by another call meanwhile', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds, drains: false })
    queue(ctx, request(id))
    const session = await reopen(store, id)
    const run = randomUUID()
    session.append([
      { kind: 'session.activated', boot_id: 'b' },
      { ...startedRun(run, 'k'), digest: digestOf('hi') },
      userMessage(run, 'hi'),
      ...cancelled('cancelled')(run),
    ])
    await session.abandon()
    await delivered(store, id)
    expect([timesAsked(store, id), store.mail.ids(id)]).toEqual([1, []])
  })

  test('is taken from the inbox, where it was queued to be asked again', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, cancelled('cancelled'))
    const { ctx } = contextAt(store, { bounds, drains: false })
    queue(ctx, request(id, { retry: true }))
    await delivered(store, id)
    expect((await sent(store, request(id))).result.reply).toMatch(/^echo: .*hi$/s)
    expect(openForRead(store, id)?.state.delivered).toHaveLength(1)
  })

  test.each([
    ['was cancelled', cancelled('cancelled'), ['CANCELLED', undefined]],
    [
      'waits for a person to go on',
      (run: string) => [{ kind: 'run.interrupted' as const, run_id: run, reason: 'unknown_tool' as const }],
      ['INTERRUPTED', 'WAITING'],
    ],
  ])('is also returned to an agent that sent it, if it %s', async (_, end, expected) => {
    const store = tempStore()
    const { from, to, run, session } = await askedChild(store)
    session.append(end(run))
    await session.abandon()
    const { ctx } = contextAt(store, { bounds, caller: from })
    const codes: unknown[] = []
    await deliverMessage(ctx, request(to, { from }), ({ failure }) => void codes.push(failure?.code))
    await deliverMessage(
      ctx,
      request(to, { from, retry: true }),
      ({ failure }) => void codes.push(failure?.code),
    )
    expect(codes).toEqual(expected)
  })
})

test('a notification with a key, taken with others in the inbox, is not taken again by any other call', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  const { ctx } = contextAt(store, { bounds, drains: false })
  queue(ctx, request(id, { kind: 'notification', content: 'another', key: null }))
  queue(ctx, request(id, { kind: 'notification' }))
  await delivered(store, id)
  expect((await sent(store, request(id))).result.run?.status).toBe('completed')
  expect(timesAsked(store, id)).toBe(2)
})

test('a notification with a key whose turn is not over is not stored again: that turn may yet fail', async () => {
  const store = tempStore()
  const { from, to, session } = await askedChild(store)
  const { ctx } = contextAt(store, { bounds, drains: false })
  await deliverMessage(ctx, request(to, { from, kind: 'notification' }), () => undefined)
  expect(store.mail.ids(to)).toEqual([])
  await session.abandon()
})

function timesAsked(store: FileStore, id: string): number {
  return (
    readFileSync(store.local.logPath(id), 'utf8').match(/"kind":"(message.user|mail.delivered)"/g)?.length ??
    0
  )
}

async function delivered(store: FileStore, id: string): Promise<void> {
  const { ctx } = contextAt(store, { bounds })
  ctx.deliveries.wake(id)
  await ctx.deliveries.untilIdle()
}

describe('a key whose turn was cut short', () => {
  const nothing = (run: string): NewRecord[] => [{ kind: 'model.requested', run_id: run }]

  test('continues that turn with its key: the message is asked once', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, nothing)
    expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
    expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
    const log = readFileSync(store.local.logPath(id), 'utf8')
    expect(log.match(/"kind":"message.user"/g)).toHaveLength(1)
  })

  test('is in the turn that continues it, where that was marked as interrupted', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, (run) => [
      ...nothing(run),
      { kind: 'run.interrupted', run_id: run, reason: 'process_exit' },
    ])
    const { result } = await sent(store, request(id))
    const state = openForRead(store, id)?.state
    expect([result.reply, state?.run?.key, state?.run?.continues !== null]).toEqual(['echo: hi', 'k', true])
  })

  test('is refused for another message, which changes nothing', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, nothing)
    await expect(sent(store, request(id, { content: 'another' }))).rejects.toMatchObject({
      code: 'KEY_CONFLICT',
    })
    expect(openForRead(store, id)?.state.run?.status).toBe('open')
  })
})

test('a key that another message took while this one waited for the agent is refused, once that is answered', async () => {
  const store = tempStore()
  const session = await newSession(store)
  const { id } = session
  const late = sent(store, request(id, { content: 'another' })).catch((error: unknown) => error)
  const run = randomUUID()
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(run, 'k'), digest: digestOf('hi') },
    userMessage(run, 'hi'),
  ])
  await session.abandon()
  expect(await late).toMatchObject({ code: 'KEY_CONFLICT' })
  expect(openForRead(store, id)?.state.run?.status).toBe('completed')
})

describe('a message that is queued', () => {
  test('with a key is stored once, and another message with that key is refused', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds })
    queue(ctx, request(id))
    queue(ctx, request(id))
    expect(() => queue(ctx, request(id, { content: 'another' }))).toThrow(
      expect.objectContaining({ code: 'KEY_CONFLICT' }),
    )
    expect(mailOf(store, id).map(({ content }) => content)).toEqual(['hi'])
  })

  test('and was answered by another call with its key meanwhile is dropped', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds, drains: false })
    queue(ctx, request(id))
    await sent(store, request(id))
    await delivered(store, id)
    expect([store.mail.ids(id), openForRead(store, id)?.state.delivered]).toEqual([[], []])
  })

  test('is acknowledged after it is stored', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds })
    const stored: string[][] = []
    const note = (): void => void stored.push(store.mail.ids(id))
    queue({ ...ctx, reporter: { ...ctx.reporter, note } }, request(id))
    expect(stored).toEqual([store.mail.ids(id)])
    expect(store.mail.ids(id)).toHaveLength(1)
  })

  test('without a key is another each time', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    const { ctx } = contextAt(store, { bounds })
    for (let count = 0; count < 2; count++) queue(ctx, request(id, { key: null }))
    expect(store.mail.ids(id)).toHaveLength(2)
  })
})

describe('an agent that sends by the command line', () => {
  test('is refused by the rules of the tree, and nothing is stored', async () => {
    const store = tempStore()
    const [from, to] = [await newAgent(store, { name: 'a' }), await newAgent(store, { name: 'b' })]
    const { ctx } = contextAt(store, { bounds })
    await expect(deliverMessage(ctx, request(to, { from }), () => undefined)).rejects.toMatchObject({
      code: 'TREE_RULES',
    })
    expect(store.mail.ids(to)).toEqual([])
  })

  test('has the reply once: it is removed from the inbox, durably, when it is reported', async () => {
    const store = tempStore()
    const from = await newAgent(store, { name: 'lead' })
    const to = await newAgent(store, { name: 'child', parent: from })
    const { ctx } = contextAt(store, { bounds, caller: from })
    const replies: (string | null)[] = []
    const operations = recordOperations()
    await deliverMessage(ctx, request(to, { from }), ({ result }) => void replies.push(result.reply))
    clearFaults()
    expect(replies).toEqual([expect.stringMatching(/^echo: .*hi$/s)])
    expect(store.mail.ids(from)).toEqual([])
    const removed = operations.findLastIndex(({ point }) => point === 'mail.remove')
    const synced = operations.findLastIndex(({ point }) => point === 'mail.sync_removals')
    expect(synced).toBeGreaterThan(removed)
  })
})

test.each([
  ['that another spawn has made', true, 'agents.sync_directory'],
  ['that is new', false, 'spawn.sync_agents'],
])('the id of an agent %s is printed once its name is durable', async (_, isThere, sync) => {
  const store = tempStore()
  if (isThere) await (await newSession(store, { name: 'build' })).abandon()
  const { ctx } = contextAt(store, { bounds })
  const facts = { model: null, instructions: null, workspace: tmpdir(), options: {}, prompt: null }
  const operations = recordOperations()
  const told: [string, boolean][] = []
  await spawn(
    ctx,
    {
      name: 'build',
      parent: null,
      provider: 'scripted',
      turn_timeout_ms: null,
      steps_max: null,
      allow: [],
      ifExists: 'use',
      ...facts,
    },
    {
      onAgent: ({ id }) => {
        told.push([id, operations.some(({ point }) => point === sync)])
      },
      onOutcome: () => undefined,
    },
  )
  clearFaults()
  expect(told).toEqual([[store.agentIds()[0], true]])
})
