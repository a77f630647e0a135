import { describe, expect, test } from 'vitest'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { viewOutbox } from '../../src/operations/outbox.js'
import type { Store } from '../../src/storage/store.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { outboundTo, target, targetServer } from '../support/targets.js'
import { tempStore } from '../support/temp.js'

const NEVER_MS = 3_600_000

describe('a message that cannot be sent', () => {
  /** This process has no access to the secret, so its messages stay pending. */
  const closed = (lifetimeMs = NEVER_MS) =>
    target('ops', 'http://127.0.0.1:9', {
      secret: { env: 'SUBSTRAT_TEST_NOT_SET' },
      lifetimeMs: () => lifetimeMs,
    })

  async function turn(store: Store, id: string, targets = [closed()]): Promise<void> {
    const outbound = outboundTo(store, targets)
    await deliverMessage(contextAt(store, { outbound }).ctx, sendRequest(id), () => undefined)
    await outbound.untilSent()
  }

  const reasons = (store: Store): unknown[] =>
    viewOutbox(store, { agentId: undefined, isDropped: true }).messages.map(({ reason }) => reason)
  const pending = (store: Store): string[] =>
    viewOutbox(store, { agentId: undefined, isDropped: false }).messages.map(({ outbound_id }) => outbound_id)

  test('is dropped once 100 newer ones are pending', async () => {
    const store = tempStore()
    const id = await newAgent(store)
    for (let count = 0; count < 100; count++) await turn(store, id)
    const before = pending(store)
    expect([before.length, reasons(store)]).toEqual([100, []])
    await turn(store, id)
    const after = pending(store)
    expect(reasons(store)).toEqual(['queue_full'])
    expect(after.slice(0, 99)).toEqual(before.slice(1))
    expect(after).toHaveLength(100)
  })

  test('is not dropped for messages to other targets: twelve have a queue each', async () => {
    const store = tempStore()
    const server = await targetServer()
    const id = await newAgent(store)
    const slow = Array.from({ length: 11 }, (_, n) => ({ ...closed(), name: `slow-${n}` }))
    const targets = [...slow, target('quick', server.url)]
    for (let count = 0; count < 30; count++) await turn(store, id, targets)
    expect([reasons(store), pending(store).length, server.received.length]).toEqual([[], 330, 30])
  })

  test('is dropped without a request after its time', async () => {
    const store = tempStore()
    const server = await targetServer()
    const id = await newAgent(store)
    await turn(store, id, [target('ops', server.url, { lifetimeMs: () => -1000 })])
    expect([pending(store), reasons(store), server.received]).toEqual([[], ['expired'], []])
  })
})
