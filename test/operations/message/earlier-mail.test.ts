/** Which messages come before a direct send, and how it yields to another command that is waiting for the agent. */
import { afterEach, expect, test } from 'vitest'
import { clock } from '../../../src/clock.js'
import { OPERATOR } from '../../../src/format.js'
import { deliverMessage } from '../../../src/operations/message/deliver-message.js'
import { earlierMail } from '../../../src/operations/message/earlier-mail.js'
import { queue } from '../../../src/operations/message/queue.js'
import { openForAppend } from '../../../src/session/session.js'
import type { FileStore } from '../../../src/storage/file-store.js'
import { contextAt } from '../../support/contexts.js'
import { mailOf, posted } from '../../support/mail.js'
import { sendRequest } from '../../support/send-request.js'
import { newAgent, recordsOf } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'
import { waitFor } from '../../support/wait.js'

const { now } = clock
afterEach(() => {
  clock.now = now
})

/** The contents of the messages that come before the request, for a command that began to wait then. */
async function earlierOf(store: FileStore, id: string, arrivedAt: number): Promise<string[]> {
  const session = await openForAppend(store, id, { command: 'test', waitMs: 0 })
  session.arrivedAt = new Date(arrivedAt).toISOString()
  const earlier = earlierMail(session, sendRequest(id))
  await session.close(() => true)
  return mailOf(store, id).flatMap(({ message_id, content }) => (earlier.has(message_id) ? [content] : []))
}

async function agentWithMailAt(...times: number[]): Promise<{ store: FileStore; id: string }> {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  for (const time of times) {
    clock.now = () => time
    posted(store, id, String(time), { from: OPERATOR })
  }
  return { store, id }
}

test('a message that was queued while the command waited comes after it', async () => {
  const { store, id } = await agentWithMailAt(1000, 3000)
  clock.now = () => 4000
  expect(await earlierOf(store, id, 2000)).toEqual(['1000'])
})

test('a message from before the clock was set back comes first', async () => {
  const { store, id } = await agentWithMailAt(9000)
  clock.now = () => 4000
  expect(await earlierOf(store, id, 2000)).toEqual(['9000'])
})

const contents = (store: FileStore, id: string): unknown[] =>
  recordsOf(store, id).flatMap((record) =>
    record.kind === 'message.user' || record.kind === 'mail.delivered' ? [record.content] : [],
  )

test('a command that waited before an earlier message was queued comes before both', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  const held = await openForAppend(store, id, { command: 'test', waitMs: 0 })
  const { ctx } = contextAt(store, { bounds: { waitMs: 3_600_000, slotsMax: 4 } })
  const waiting = deliverMessage(ctx, sendRequest(id, { content: 'waited' }), () => undefined)
  await waitFor(() => store.waits.arrivals(id).length === 1, 'the arrival')
  queue(ctx, sendRequest(id, { content: 'queued', isQueued: true }))
  // Takes the agent as soon as it is free, before the command that waits looks for it again.
  await held.close(() => true)
  const outcomes: unknown[] = []
  const direct = deliverMessage(ctx, sendRequest(id, { content: 'direct' }), (outcome) =>
    outcomes.push(outcome),
  )
  await Promise.all([waiting, direct])
  expect(contents(store, id)).toEqual(['waited', 'queued', 'direct'])
  expect(outcomes).toMatchObject([{ result: { reply: 'echo: direct' } }])
})
