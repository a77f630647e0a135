/** Sends notifications to servers on the loopback. */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { viewOutbox } from '../../src/operations/outbox.js'
import type { NotifyTarget } from '../../src/outbound/notify.js'
import type { OutboxMessage } from '../../src/schema/output-overview.js'
import { openForRead } from '../../src/session/load.js'
import { openForAppend } from '../../src/session/session.js'
import type { Store } from '../../src/storage/store.js'
import { contextAt } from '../support/contexts.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { outboundTo, type Received, target, targetServer } from '../support/targets.js'
import { tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

/** Runs a turn as a command does, with the notifications at its end. */
async function sendOnce(
  store: Store,
  agentId: string,
  targets: NotifyTarget[],
  waitMs?: number,
): Promise<void> {
  const outbound = outboundTo(store, targets, waitMs)
  const { ctx } = contextAt(store, { outbound })
  await deliverMessage(ctx, sendRequest(agentId), () => undefined)
  await outbound.untilSent()
}

function outbox(store: Store, isDropped = false): OutboxMessage[] {
  return viewOutbox(store, { agentId: undefined, isDropped }).messages
}

const ids = (received: Received[]): unknown[] => received.map(({ headers }) => headers['idempotency-key'])

describe('an outbound message', () => {
  test('is sent once, and then the agent is not marked', async () => {
    const [store, server] = [tempStore(), await targetServer()]
    const id = await newAgent(store, { name: 'a' })
    await sendOnce(store, id, [target('ops', server.url)])
    expect(server.received.map(({ body }) => JSON.parse(body))).toMatchObject([
      {
        event: 'completed',
        agent: id,
        path: 'a',
        home_id: store.homeId,
        text: expect.stringMatching(/^a completed/),
      },
    ])
    expect(outbox(store)).toEqual([])
    expect(store.visits.markedIds()).toEqual([])
    await sendOnce(store, id, [target('ops', server.url)])
    expect(new Set(ids(server.received)).size).toBe(2)
  })

  test('is sent again with the same id and body after a status of 500', async () => {
    const store = tempStore()
    const server = await targetServer((response, index) => {
      response.statusCode = index === 0 ? 500 : 204
      response.end()
    })
    const id = await newAgent(store)
    await sendOnce(store, id, [target('ops', server.url)])
    expect(server.received).toHaveLength(2)
    const [first, second] = server.received
    expect([second?.body, second?.headers['idempotency-key']]).toEqual([
      first?.body,
      first?.headers['idempotency-key'],
    ])
    expect(outbox(store)).toEqual([])
  })

  test('stays pending while the target asks for a longer pause, and the agent stays marked', async () => {
    const store = tempStore()
    const server = await targetServer((response) => {
      response.writeHead(429, { 'retry-after': '120' }).end()
    })
    const id = await newAgent(store)
    await sendOnce(store, id, [target('ops', server.url)])
    expect(server.received).toHaveLength(1)
    const [message] = outbox(store) as [OutboxMessage]
    expect(message).toMatchObject({ state: 'failed', attempts: 1, why: 'it answered with status 429' })
    const pauseMs = Date.parse(message.next_at as string) - Date.parse(message.at)
    expect(pauseMs).toBeGreaterThanOrEqual(120_000)
    expect(store.visits.markedIds()).toEqual([id])
  })

  test('is dropped at once if the target refuses it, and after the last attempt', async () => {
    const store = tempStore()
    const refuses = await targetServer((response) => void response.writeHead(403).end())
    const breaks = await targetServer((response) => void response.destroy())
    const id = await newAgent(store)
    await sendOnce(store, id, [target('no', refuses.url), target('broken', breaks.url, { triesMax: 2 })])
    expect([refuses.received.length, breaks.received.length]).toEqual([1, 2])
    const dropped = outbox(store, true).map((message) => [message.target, message.reason])
    expect(dropped.sort()).toEqual([
      ['broken', 'attempts'],
      ['no', 'refused'],
    ])
    expect(outbox(store)).toEqual([])
    expect(store.visits.markedIds()).toEqual([])
  })

  test('does not wait for another target', async () => {
    const store = tempStore()
    const slow: ServerResponse[] = []
    const answers = await targetServer((response) => slow.push(response))
    const works = await targetServer((response) => {
      response.end()
      void waitFor(() => slow.length > 0, 'the slow request').then(() => slow[0]?.end())
    })
    const id = await newAgent(store)
    await sendOnce(store, id, [target('slow', answers.url), target('fast', works.url)])
    expect([answers.received.length, works.received.length]).toEqual([1, 1])
    expect(outbox(store)).toEqual([])
  })

  test('is cut off at the end of the command, without counting as an attempt', async () => {
    const store = tempStore()
    const hangs = await targetServer(() => undefined)
    const id = await newAgent(store)
    await sendOnce(store, id, [target('slow', hangs.url)], 50)
    expect(outbox(store)).toMatchObject([{ target: 'slow', state: 'pending', attempts: 0 }])
  })

  test('is sent in the order of its thread, by the next command if the first could not', async () => {
    const store = tempStore()
    let isUp = false
    const server = await targetServer((response) => {
      if (isUp) response.end()
    })
    const id = await newAgent(store)
    const targets = [target('ops', server.url)]
    await sendOnce(store, id, targets, 100)
    await sendOnce(store, id, targets, 100)
    const pending = outbox(store).map(({ outbound_id }) => outbound_id)
    expect(pending).toHaveLength(2)
    expect(ids(server.received).filter((sent) => sent !== pending[0])).toEqual([])
    isUp = true
    server.received.length = 0
    await sendOnce(store, id, targets)
    // A request of before may arrive only now: its sender waited 100 ms.
    const sent = [...new Set(ids(server.received))]
    expect(sent.slice(0, 2)).toEqual(pending)
    expect(sent).toHaveLength(3)
  })

  test('waits behind an earlier one that the target wants later', async () => {
    const store = tempStore()
    const hangs = await targetServer(() => undefined)
    const server = await targetServer((response, index) => {
      if (index === 0) response.writeHead(429, { 'retry-after': '120' })
      response.end()
    })
    const id = await newAgent(store)
    for (let turn = 0; turn < 2; turn++) await sendOnce(store, id, [target('ops', hangs.url)], 0)
    await sendOnce(store, id, [target('ops', server.url)])
    expect([server.received.length, outbox(store).length]).toEqual([1, 3])
    await sendOnce(store, id, [target('ops', server.url)])
    expect([server.received.length, outbox(store).length]).toEqual([1, 4])
  })

  test('is handed over if another process holds the agent, and is not sent twice', async () => {
    const store = tempStore()
    const server = await targetServer()
    const id = await newAgent(store)
    const targets = [target('ops', server.url)]
    const hung = await targetServer(() => undefined)
    await sendOnce(store, id, [target('ops', hung.url)], 50)
    const held = await openForAppend(store, id, { command: 'test', waitMs: 0 })
    const outbound = outboundTo(store, targets)
    outbound.wake(id)
    await outbound.untilSent()
    expect(server.received).toHaveLength(1)
    expect(outbox(store)).toEqual([])
    await held.abandon()
    await sendOnce(store, id, targets)
    expect(new Set(ids(server.received)).size).toBe(2)
    expect(server.received).toHaveLength(2)
    expect(openForRead(store, id)?.state.outbound).toBe(undefined)
    expect(store.mail.ids(id)).toEqual([])
  })

  test('stays pending if its target is not configured', async () => {
    const store = tempStore()
    const hung = await targetServer(() => undefined)
    const id = await newAgent(store)
    await sendOnce(store, id, [target('gone', hung.url)], 50)
    await sendOnce(store, id, [])
    expect(outbox(store)).toMatchObject([{ target: 'gone', state: 'pending' }])
  })
})

test('a turn with a notification waits for the disk three times until its reply', async () => {
  const store = tempStore()
  const server = await targetServer()
  const id = await newAgent(store, { name: 'a' })
  const outbound = outboundTo(store, [target('ops', server.url)])
  const { ctx } = contextAt(store, { outbound })
  const operations = recordOperations()
  const syncs = (): string[] => operations.map(({ point }) => point).filter((point) => /sync/.test(point))
  await deliverMessage(ctx, sendRequest(id), () => expect(syncs()).toEqual(['log.sync', 'log.sync']))
  expect(syncs().slice(0, 3)).toEqual(['log.sync', 'log.sync', 'snapshot.fsync'])
  await outbound.untilSent()
  clearFaults()
  expect(server.received).toHaveLength(1)
})
