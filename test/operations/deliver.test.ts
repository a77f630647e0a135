/** `deliver` of several agents whose disk steps fail or succeed beside each other. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SubstratError } from '../../src/errors.js'
import { OPERATOR } from '../../src/format.js'
import { deliver } from '../../src/operations/deliver.js'
import type { DeliveredAgent } from '../../src/schema/output.js'
import { openForRead } from '../../src/session/load.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { failing, withFaults } from '../support/faults.js'
import { posted } from '../support/mail.js'
import { clearFaults } from '../support/operations.js'
import { newAgent } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { waitFor } from '../support/wait.js'

/** Each of its turns takes until the file exists. */
function agentUntil(store: FileStore, workspace: string, file: string): Promise<string> {
  const responses = [1, 2].map(() => ({ after_file: file, say: `reply after ${file}` }))
  writeFileSync(join(workspace, `${file}.json`), JSON.stringify({ responses }))
  return newAgent(store, { workspace, options: { scenario: `${file}.json` } })
}

async function delivered(
  store: FileStore,
  agentIds: string[],
): Promise<Map<string, { agent: DeliveredAgent; failure: SubstratError | undefined }>> {
  const told = new Map()
  const { ctx } = contextAt(store, { bounds: { slotsMax: 4 } })
  await deliver(ctx, { all: false, agentIds }, (agent, failure) => told.set(agent.agent, { agent, failure }))
  return told
}

test('a failed fsync of one agent is reported for it alone: the turn beside it ends and is acknowledged', async () => {
  const store = tempStore()
  const workspace = tempDirectory()
  const [failed, sound] = [
    await agentUntil(store, workspace, 'first'),
    await agentUntil(store, workspace, 'second'),
  ]
  for (const id of [failed, sound]) posted(store, id, 'a request', { kind: 'request' })
  const replies = (): string[] =>
    store.mail.ids(OPERATOR).map((id) => JSON.stringify(store.mail.read(OPERATOR, id)))
  const isAsked = (id: string): boolean => openForRead(store, id)?.state.run?.phase === 'asked'
  const working = delivered(store, [failed, sound])
  await waitFor(() => isAsked(failed) && isAsked(sound), 'both turns')

  const log = store.local.logPath(failed)
  let failures = 0
  withFaults(failing('EIO', ({ point, path }) => point === 'log.sync' && path === log && ++failures > 0))
  writeFileSync(join(workspace, 'first'), '')
  await waitFor(() => failures > 0, 'the failed fsync')
  expect(isAsked(sound)).toBe(true)
  writeFileSync(join(workspace, 'second'), '')
  const told = await working

  expect(told.get(failed)?.failure).toMatchObject({ code: 'SYNC_FAILED', exitStatus: 15 })
  expect(told.get(sound)).toMatchObject({
    failure: undefined,
    agent: { turns: 1, inbox: 0, run: { status: 'completed' } },
  })
  expect(replies()).toEqual([expect.stringContaining('reply after second')])

  clearFaults()
  expect((await delivered(store, [failed])).get(failed)).toMatchObject({ failure: undefined })
  expect(replies().filter((reply) => reply.includes('reply after first'))).toHaveLength(1)
  expect(replies()).toHaveLength(2)
})

test('deliver is not bounded by the number of turns of other commands', async () => {
  const store = tempStore()
  const id = await newAgent(store)
  for (let n = 0; n < 4; n++) posted(store, id, `m${n}`)
  const { ctx } = contextAt(store, { turnsMax: 2 })
  const told: DeliveredAgent[] = []
  await deliver(ctx, { all: true, agentIds: [] }, (agent) => told.push(agent))
  expect(told).toMatchObject([{ agent: id, turns: 4 }])
  expect(store.mail.ids(id)).toEqual([])
})
