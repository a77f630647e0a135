/** What a command tells without a turn of its own: it is on disk, and said once. */
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../src/dispatch/outcome.js'
import { queue } from '../../src/dispatch/queue.js'
import { send } from '../../src/dispatch/send.js'
import { sendAs } from '../../src/dispatch/send-as.js'
import type { SendRequest } from '../../src/dispatch/send-request.js'
import { spawn } from '../../src/dispatch/spawn.js'
import { digestOf } from '../../src/session/ids.js'
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

/** An agent that has answered the message of the key, and whose process died before it wrote a snapshot. */
async function answeredAgent(store: FileStore): Promise<string> {
  const session = await newSession(store)
  const run = randomUUID()
  session.append([
    { kind: 'session.activated', boot_id: 'b' },
    { ...startedRun(run, 'k'), digest: digestOf('hi') },
    userMessage(run, 'hi'),
  ])
  session.append([replied(run, 'the answer'), completed(run, null)])
  await session.abandon()
  return session.id
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
