import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { viewOutbox } from '../../src/operations/outbox.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { outboundTo, target, targetServer } from '../support/targets.js'
import { tempStore } from '../support/temp.js'

test('a target that does not answer keeps no agent from another target', async () => {
  const store = tempStore()
  const count = limits.outboundAgentsMax + 2
  const held: ServerResponse[] = []
  let isHeld = true
  const slow = await targetServer((response) => {
    if (isHeld) held.push(response)
    else response.end()
  })
  // The slow target answers once the fast one has the messages of all agents.
  const fast = await targetServer((response, index) => {
    response.end()
    if (index < count - 1) return
    isHeld = false
    for (const each of held) each.end()
  })
  const targets = [target('slow', slow.url), target('fast', fast.url)]
  const rules = outboundTo(store, targets).rules
  const ids: string[] = []
  for (let index = 0; index < count; index++) {
    const id = await newAgent(store)
    ids.push(id)
    // Queued, and not sent by this command.
    const { ctx } = contextAt(store, {
      outbound: { rules, secrets: {}, wake: () => undefined, untilSent: () => Promise.resolve() },
    })
    await deliverMessage(ctx, sendRequest(id), () => undefined)
  }
  expect(viewOutbox(store, { agentId: undefined, isDropped: false }).messages).toHaveLength(2 * count)
  const outbound = outboundTo(store, targets)
  for (const id of ids) outbound.wake(id)
  await outbound.untilSent()
  expect([fast.received.length, slow.received.length]).toEqual([count, count])
  expect(held).toHaveLength(limits.outboundRequestsMax)
  expect(viewOutbox(store, { agentId: undefined, isDropped: false }).messages).toEqual([])
})
