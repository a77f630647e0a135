/** The number of requests that a command makes to its store. On another machine, each would be a round trip. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OPERATOR } from '../../src/format.js'
import { showAgent } from '../../src/operations/list-and-show.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { resolveAgent } from '../../src/tree/names.js'
import { STRACE, whyNoStrace } from '../../stress/kill/strace.js'
import { House } from '../support/cli.js'
import { contextAt } from '../support/contexts.js'
import { countedStore } from '../support/counted-store.js'
import { posted } from '../support/mail.js'
import { clearFaults, recordOperations } from '../support/operations.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

/** Opening the home and reading its settings. */
const FOR_THE_COMMAND = 2

test('a send makes at most 12', async () => {
  const inner = tempStore()
  await newAgent(inner, { name: 'a' })
  const { store, requests } = countedStore(inner)
  const { ctx } = contextAt(store)
  const operations = recordOperations()
  await deliverMessage(ctx, sendRequest(resolveAgent(store, 'a')), () => undefined)
  clearFaults()
  const points = operations.map(({ point }) => point)
  // The turn reads its own records from memory.
  expect(points.slice(points.indexOf('log.append'))).not.toContain('log.read')
  expect(requests.length + FOR_THE_COMMAND, requests.join(', ')).toBeLessThanOrEqual(12)
})

/** The steps that wait for the disk. */
const SYNCS = /sync/

test('a send waits for the disk three times: the intent, the outcome, the snapshot', async () => {
  const store = tempStore()
  const id = await newAgent(store, { name: 'a' })
  const { ctx } = contextAt(store)
  const operations = recordOperations()
  await deliverMessage(ctx, sendRequest(id), () => undefined)
  clearFaults()
  const syncs = operations.map(({ point }) => point).filter((point) => SYNCS.test(point))
  expect(syncs).toEqual(['log.sync', 'log.sync', 'snapshot.fsync'])
})

test.skipIf(whyNoStrace() !== undefined)('a process of send makes three fsyncs', async () => {
  const house = House.ofProcesses()
  await house.spawn('a')
  await house.ok('send', 'a', 'first')
  const trace = join(tempDirectory(), 'trace')
  const [program, ...args] = house.command('send', 'a', 'second')
  const under = [...STRACE, '-y', '-o', trace, '-e', 'trace=fsync,fdatasync,sync_file_range,syncfs']
  const [strace, ...words] = [...under, program, ...args] as [string, ...string[]]
  expect(spawnSync(strace, words, { env: house.env, cwd: house.workspace }).status).toBe(0)
  const calls = readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => line.includes('sync'))
  const files = calls.map((line) => /<(.*?)>/.exec(line)?.[1]?.replace(/.*\/agents\/[^/]*\//, ''))
  expect(files).toEqual(['events.jsonl', 'events.jsonl', expect.stringMatching(/^session\.json/)])
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
  await deliverMessage(ctx, sendRequest(resolveAgent(store, 'a'), { isQueued: true }), () => undefined)
  expect(requests.length + FOR_THE_COMMAND, requests.join(', ')).toBeLessThanOrEqual(25)
})

test('a send that looks for earlier messages makes no more requests than one that overtakes them', async () => {
  const requestsOf = async (isFirst: boolean): Promise<string[]> => {
    const inner = tempStore()
    const id = await newAgent(inner, { name: 'a' })
    // Mail of another sender has no place before the message. A long one does not stay in memory.
    for (const content of ['short', 'x'.repeat(10_000)]) posted(inner, id, content, { from: randomUUID() })
    const { store, requests } = countedStore(inner)
    const { ctx } = contextAt(store, { turnsMax: 0 })
    await deliverMessage(ctx, sendRequest(id, { isFirst }), () => undefined)
    return requests
  }
  const requests = await requestsOf(false)
  expect(requests).toContain('mail.read')
  expect(requests).toEqual(await requestsOf(true))
})

test('a send that runs an earlier message first reads that once', async () => {
  const inner = tempStore()
  const id = await newAgent(inner, { name: 'a' })
  posted(inner, id, 'earlier', { from: OPERATOR })
  const { store, requests } = countedStore(inner)
  const { ctx } = contextAt(store)
  await deliverMessage(ctx, sendRequest(id), () => undefined)
  expect(requests.filter((name) => name === 'mail.read')).toHaveLength(1)
})
