/** What a command tells without a turn of its own: it is on disk, and said once. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { queue } from '../../src/dispatch/queue.js'
import { send } from '../../src/dispatch/send.js'
import { sendAs } from '../../src/dispatch/send-as.js'
import type { SendRequest } from '../../src/dispatch/send-request.js'
import { spawn } from '../../src/dispatch/spawn.js'
import { digestOf } from '../../src/session/ids.js'
import { openForRead } from '../../src/session/open-for-read.js'
import type { NewRecord } from '../../src/session/records.js'
import type { FileStore } from '../../src/storage/store.js'
import { completed } from '../../src/turn/step-records.js'
import { contextAt } from '../support/contexts.js'
import { mailOf } from '../support/mail.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { newAgent, newSession, replied, startedRun, userMessage } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const bounds = { slotsMax: 4, waitMs: 10_000, turnTimeoutMs: 30_000 }

function request(agentId: string, over: Partial<SendRequest> = {}): SendRequest {
  return {
    agentId,
    content: 'hi',
    key: 'k',
    retry: false,
    ifBusy: 'wait',
    turnTimeoutMs: null,
    ifWaiting: 'supersede',
    allow: [],
    stepsMax: null,
    isQueued: false,
    kind: 'request',
    notBefore: null,
    ...over,
  }
}

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

function answered(run: string): NewRecord[] {
  return [replied(run, 'the answer'), completed(run, null)]
}

async function sent(store: FileStore, message: SendRequest): Promise<Outcome> {
  const { ctx } = contextAt(store, { bounds })
  const outcomes: Outcome[] = []
  await send(ctx, message, (outcome) => outcomes.push(outcome))
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
    if (command === 'send') await send(ctx, request(id), tell)
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

describe('a key whose turn was cut short', () => {
  const nothing = (run: string): NewRecord[] => [{ kind: 'model.requested', run_id: run }]

  test('goes on with that turn, and keeps its key: the message is asked once', async () => {
    const store = tempStore()
    const id = await answeredAgent(store, nothing)
    expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
    expect((await sent(store, request(id))).result.reply).toBe('echo: hi')
    const log = readFileSync(store.logPath(id), 'utf8')
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
    const { ctx: drain } = contextAt(store, { bounds })
    drain.deliveries.wake(id)
    await drain.deliveries.idle()
    expect([store.mail.ids(id), openForRead(store, id)?.state.delivered]).toEqual([[], []])
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
    await expect(sendAs(ctx, from, request(to), () => undefined)).rejects.toMatchObject({
      code: 'TREE_RULES',
    })
    expect(store.mail.ids(to)).toEqual([])
  })

  test('has the reply once: it leaves the inbox, on disk, when it is told', async () => {
    const store = tempStore()
    const from = await newAgent(store, { name: 'lead' })
    const to = await newAgent(store, { name: 'child', parent: from })
    const { ctx } = contextAt(store, { bounds, caller: from })
    const replies: (string | null)[] = []
    const operations = recordOperations()
    await sendAs(ctx, from, request(to), ({ result }) => void replies.push(result.reply))
    clearFaults()
    expect(replies).toEqual([expect.stringMatching(/^echo: .*hi$/s)])
    expect(store.mail.ids(from)).toEqual([])
    const removed = operations.findLastIndex(({ point }) => point === 'mail.remove')
    const synced = operations.findLastIndex(({ point }) => point === 'mail.sync_removals')
    expect(synced).toBeGreaterThan(removed)
  })
})

test('an agent that another spawn has made is told once its name is on disk', async () => {
  const store = tempStore()
  const made = await newSession(store, { name: 'build' })
  await made.abandon()
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
      turnTimeoutMs: null,
      allow: [],
      ifExists: 'use',
      ...facts,
    },
    {
      onAgent: ({ id }) => {
        told.push([id, operations.some(({ point }) => point === 'agents.sync_directory')])
      },
      onOutcome: () => undefined,
    },
  )
  clearFaults()
  expect(told).toEqual([[made.id, true]])
})
