import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { viewOutbox } from '../../src/operations/outbox.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { outboundTo, target } from '../support/targets.js'
import { tempStore } from '../support/temp.js'

test('the state and the messages are read from one opening of the log', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  // This process has no access to the secret, so the message stays pending.
  const closed = target('ops', 'http://127.0.0.1:9', { secret: { env: 'SUBSTRAT_TEST_NOT_SET' } })
  const outbound = outboundTo(store, [closed])
  await deliverMessage(contextAt(store, { outbound }).ctx, sendRequest(id), () => undefined)
  await outbound.untilSent()

  const log = store.local.logPath(id)
  const [firstLine] = readFileSync(log, 'utf8').split('\n')
  const open = store.open.bind(store)
  store.open = (agentId) => {
    const opened = open(agentId)
    writeFileSync(`${log}.short`, `${firstLine}\n`)
    renameSync(`${log}.short`, log)
    return opened
  }
  const { messages } = viewOutbox(store, { agentId: id, isDropped: false })
  expect(messages.map(({ agent, state }) => [agent, state])).toEqual([[id, 'pending']])
})
