/** The layers above run on either kind of store, with the same records and results. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Context } from '../../src/dispatch/context.js'
import { OPERATOR } from '../../src/format.js'
import { deliver } from '../../src/operations/deliver.js'
import { viewInbox } from '../../src/operations/inbox.js'
import { listAgents, showAgent } from '../../src/operations/list-and-show.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { recover } from '../../src/operations/recover.js'
import { remove } from '../../src/operations/remove.js'
import { type SpawnRequest, spawn } from '../../src/operations/spawn.js'
import { terminate } from '../../src/operations/terminate.js'
import { FileStore } from '../../src/storage/file-store.js'
import type { Store } from '../../src/storage/store.js'
import { resolveAgent } from '../../src/tree/names.js'
import { contextAt } from '../support/contexts.js'
import { MemoryHome } from '../support/memory-store/memory-home.js'
import { MemoryStore } from '../support/memory-store/memory-store.js'
import { sendRequest } from '../support/send-request.js'
import { recordsOf } from '../support/sessions.js'
import { tempDirectory } from '../support/temp.js'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\d{4}-\d\d-\d\d[T ][\d:.]+Z/g

function spawnRequest(over: Partial<SpawnRequest>): SpawnRequest {
  return {
    name: null,
    parent: null,
    provider: 'scripted',
    model: null,
    instructions: null,
    workspace: tmpdir(),
    options: {},
    prompt: null,
    turn_timeout_ms: null,
    steps_max: null,
    allow: [],
    ifExists: 'fail',
    ...over,
  }
}

/** Each step on a store of its own, as each command is a process of its own. Returns all that a person sees, without ids and times. */
async function errand(open: () => Store): Promise<string[]> {
  const seen: string[] = []
  const note = (what: string, value: unknown): void => void seen.push(`${what}: ${JSON.stringify(value)}`)
  const step = async (act: (ctx: Context, store: Store) => Promise<unknown>): Promise<void> => {
    const store = open()
    const { ctx, notes } = contextAt(store)
    try {
      await act(ctx, store)
    } catch (error) {
      note('error', (error as { code?: string }).code ?? String(error))
    }
    for (const text of notes) note('note', text)
  }
  const toAgent = (word: string, over: Parameters<typeof sendRequest>[1] = {}) =>
    step((ctx, store) =>
      deliverMessage(ctx, sendRequest(resolveAgent(store, word), over), ({ result }) =>
        note('sent', result.reply),
      ),
    )
  const listener = { onAgent: () => undefined, onOutcome: () => undefined }

  await step((ctx) => spawn(ctx, spawnRequest({ name: 'lead', prompt: 'begin' }), listener))
  await step((ctx) => spawn(ctx, spawnRequest({ name: 'lead' }), listener))
  await step((ctx, store) =>
    spawn(ctx, spawnRequest({ name: 'child', parent: resolveAgent(store, 'lead') }), listener),
  )
  await toAgent('lead', { content: 'hello' })
  await toAgent('lead', { content: 'once', key: 'k1' })
  await toAgent('lead', { content: 'once', key: 'k1' })
  await toAgent('lead', { content: 'another', key: 'k1' })
  await toAgent('lead/child', { content: 'x'.repeat(100_000) })
  await toAgent('lead/child', { content: 'queued', isQueued: true })
  await toAgent('nobody')
  await step((ctx) => deliver(ctx, { all: true, agentIds: [] }, (delivered) => note('delivered', delivered)))
  await step((ctx) =>
    recover(ctx, { all: true, agents: [] }, 'all', (recovered) => note('recovered', recovered)),
  )
  await step(async (_, store) => note('inbox', viewInbox(store, OPERATOR)))
  await step(async (_, store) => note('shown', showAgent(store, resolveAgent(store, 'lead/child'))))
  await step((ctx, store) =>
    terminate(ctx, resolveAgent(store, 'lead'), false, ({ path }) => note('terminated', path)),
  )
  await step((ctx, store) =>
    terminate(ctx, resolveAgent(store, 'lead'), true, ({ path }) => note('terminated', path)),
  )
  await toAgent('lead')
  await step(async (_, store) => note('listed', listAgents(store, { roots: false, all: true })))
  for (const id of open().agentIds())
    note(
      'records',
      recordsOf(open(), id).map(({ batch, ...record }) => ({ ...record, ts: '' })),
    )
  await step((ctx, store) =>
    remove(ctx, resolveAgent(store, 'lead'), true, ({ path }) => note('removed', path)),
  )
  note('left', [open().agentIds(), open().visits.markedIds(), open().names(null).count()])
  return seen.map(masked).sort()
}

/** Ids by the order of their first appearance would depend on the order of agents, so every id looks the same. */
function masked(text: string): string {
  return text
    .replace(UUID, 'ID')
    .replace(TIME, 'TIME')
    .replace(/"uptime_ms":[\d.]+/g, '"uptime_ms":0')
}

test('the same errand gives the same results and records in a home in files and in memory', async () => {
  const files = join(tempDirectory(), 'home')
  const [address, home] = [tempDirectory(), new MemoryHome()]
  const inFiles = await errand(() => FileStore.openForWrite(files))
  const inMemory = await errand(() => new MemoryStore(address, home))
  expect(inMemory).toEqual(inFiles)
  expect(inFiles.length).toBeGreaterThan(20)
  expect(inFiles.filter((line) => line.startsWith('error'))).toHaveLength(5)
})
