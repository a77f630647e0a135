/** The number of requests that a command makes to its store. On another machine, each would be a round trip. */
import { expect, test } from 'vitest'
import { showAgent } from '../../src/operations/list-and-show.js'
import { send } from '../../src/operations/send.js'
import { resolveAgent } from '../../src/tree/names.js'
import { contextAt } from '../support/contexts.js'
import { countedStore } from '../support/counted-store.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

/** Opening the home and reading its settings. */
const FOR_THE_COMMAND = 2

test('a send makes at most 12', async () => {
  const inner = tempStore()
  await newAgent(inner, { name: 'a' })
  const { store, requests } = countedStore(inner)
  const { ctx } = contextAt(store)
  const operations = recordOperations()
  await send(ctx, sendRequest(resolveAgent(store, 'a')), () => undefined)
  clearFaults()
  const points = operations.map(({ point }) => point)
  // The turn reads its own records from memory.
  expect(points.slice(points.indexOf('log.append'))).not.toContain('log.read')
  expect(requests.length + FOR_THE_COMMAND, requests.join(', ')).toBeLessThanOrEqual(12)
})

test('a show makes at most 4', async () => {
  const inner = tempStore()
  await newAgent(inner, { name: 'a' })
  const { store, requests } = countedStore(inner)
  showAgent(store, resolveAgent(store, 'a'))
  expect(requests.length + FOR_THE_COMMAND, requests.join(', ')).toBeLessThanOrEqual(4)
})

test('a send that queues its message and drains it makes at most 25', async () => {
  const inner = tempStore()
  await newAgent(inner, { name: 'a' })
  const { store, requests } = countedStore(inner)
  const { ctx } = contextAt(store)
  await send(ctx, sendRequest(resolveAgent(store, 'a'), { isQueued: true }), () => undefined)
  expect(requests.length + FOR_THE_COMMAND, requests.join(', ')).toBeLessThanOrEqual(25)
})
