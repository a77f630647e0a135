/** A rate limit that does not say when it ends: each wait is twice as long as the one before, across real resumes. */
import { writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clock } from '../../src/clock.js'
import type { Context } from '../../src/dispatch/context.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { recover } from '../../src/operations/recover.js'
import { resume } from '../../src/operations/resume.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { sendRequest } from '../support/send-request.js'
import { newAgent, recordsOf } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

const MINUTE_MS = 60_000

let store: FileStore
let aheadMs = 0
const { now } = clock

beforeEach(() => {
  store = tempStore()
  aheadMs = 0
  clock.now = () => now() + aheadMs
  clock.uptime = () => uptime() * 1000 + aheadMs
})

afterEach(() => {
  clock.now = now
  delete clock.uptime
})

function agentOf(...responses: object[]): Promise<string> {
  const scenario = join(tempDirectory(), 's.json')
  writeFileSync(scenario, JSON.stringify({ responses }))
  return newAgent(store, { provider: 'scripted', options: { scenario } })
}

const command = (): Context => contextAt(store, { allow: ['all'] }).ctx

/** The waits so far, each in whole minutes from its record. */
function waitsOf(id: string): number[] {
  return recordsOf(store, id).flatMap((record) =>
    record.kind === 'run.waiting'
      ? [Math.round((Date.parse(record.not_before as string) - Date.parse(record.ts)) / MINUTE_MS)]
      : [],
  )
}

/** Time passes until the wait is over. */
function passTheWait(id: string): void {
  aheadMs += (waitsOf(id).at(-1) as number) * MINUTE_MS + 1000
}

const ignore = (): void => undefined
const LIMIT = { type: 'rate_limit' }

test.each([
  ['resume', async (id: string) => resume(command(), id, { reseed: false }, ignore)],
  ['recover --all', async () => void (await recover(command(), { all: true, agents: [] }, 'all', ignore))],
] as const)('grows its waits up to an hour, continued by %s', async (_, goOn) => {
  const id = await agentOf({ fail: { ...LIMIT, attempts: 8 }, say: 'at last' })
  await deliverMessage(command(), sendRequest(id), ignore)
  for (let n = 0; n < 8; n += 1) {
    passTheWait(id)
    await goOn(id)
  }
  expect(waitsOf(id)).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(recordsOf(store, id)).toContainEqual(
    expect.objectContaining({ kind: 'message.agent', content: 'at last' }),
  )
})

test('begins with the shortest wait again after an answer of the model', async () => {
  const limited = { fail: { ...LIMIT, attempts: 2 } }
  const id = await agentOf({ ...limited, tools: [{ name: 'list_children', input: {} }] }, { ...limited })
  await deliverMessage(command(), sendRequest(id), ignore)
  for (let n = 0; n < 3; n += 1) {
    passTheWait(id)
    await resume(command(), id, { reseed: false }, ignore)
  }
  expect(waitsOf(id)).toEqual([1, 2, 1, 2])
})
