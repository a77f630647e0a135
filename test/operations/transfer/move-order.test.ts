/** The order of the steps of a move, and the work of other processes between them. */
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { filesOf } from '../../../src/files/tar.js'
import { exportBundle } from '../../../src/operations/transfer/export-bundle.js'
import { importAgents } from '../../../src/operations/transfer/import.js'
import { moveAgents } from '../../../src/operations/transfer/move-agents.js'
import type { Bundle } from '../../../src/schema/bundle.js'
import { openForRead } from '../../../src/session/load.js'
import type { FileStore } from '../../../src/storage/file-store.js'
import { packed } from '../../support/bundles.js'
import { contextAt } from '../../support/contexts.js'
import { withFaults } from '../../support/faults.js'
import { posted } from '../../support/mail.js'
import { newAgent } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

/** `lead`, and `kid` below it. */
async function family(): Promise<{ store: FileStore; lead: string; kid: string }> {
  const store = tempStore()
  const lead = await newAgent(store, { name: 'lead', workspace: tmpdir() })
  const kid = await newAgent(store, { name: 'kid', parent: lead, workspace: tmpdir() })
  return { store, lead, kid }
}

function move(store: FileStore, agentId: string, deliver = async (_: Buffer): Promise<void> => undefined) {
  const { ctx } = contextAt(store, { bounds: { waitMs: 50 } })
  return moveAgents(ctx, { agentId, isTree: true, to: '/bundle', deliver })
}

function imported(store: FileStore, bundle: Buffer) {
  return importAgents(contextAt(store).ctx, { bundle, name: null, workspace: null })
}

function isOpen(store: FileStore, id: string): boolean {
  return openForRead(store, id)?.state.moved === undefined
}

test('agents whose bundle cannot be delivered stay open', async () => {
  const { store, lead, kid } = await family()
  const failing = async (): Promise<void> => {
    throw new Error('no space')
  }
  await expect(move(store, lead, failing)).rejects.toThrow('no space')
  expect([lead, kid].map((id) => isOpen(store, id))).toEqual([true, true])
})

test('a child that is spawned while the bundle is delivered keeps the whole tree open', async () => {
  const { store, lead, kid } = await family()
  const spawning = async (): Promise<void> => void (await newAgent(store, { name: 'late', parent: kid }))
  await expect(move(store, lead, spawning)).rejects.toMatchObject({ code: 'HAS_CHILDREN' })
  expect([lead, kid].map((id) => isOpen(store, id))).toEqual([true, true])
})

test('the highest agent is closed last, while no process can spawn below any of them', async () => {
  const { store, lead, kid } = await family()
  const closed: [string, boolean[]][] = []
  let isDelivered = false
  withFaults(({ point, path }) => {
    if (isDelivered && point === 'log.append')
      closed.push([path, [lead, kid].map((id) => store.names(id).isHeld)])
    return undefined
  })
  await move(store, lead, async () => {
    isDelivered = true
  })
  expect(closed.slice(0, 2)).toEqual([kid, lead].map((id) => [store.local.logPath(id), [true, true]]))
})

test('mail that comes while the other agents are taken goes along', async () => {
  const { store, lead, kid } = await family()
  let late: string | undefined
  withFaults(({ point, path }) => {
    if (late === undefined && point === 'lock.open' && path.includes(kid)) {
      late = ''
      late = posted(store, lead, 'late')
    }
    return undefined
  })
  const { bundle } = await move(store, lead)
  const to = tempStore()
  await imported(to, bundle)
  expect(to.mail.ids(lead)).toEqual([late])
})

test.each(['copies', 'moves'])(
  'a bundle that %s agents is refused before the first, for the log of its last',
  async (how) => {
    const { store, lead, kid } = await family()
    const bundle = how === 'moves' ? (await move(store, lead)).bundle : exportBundle(store, lead, true).bytes
    const files = filesOf(gunzipSync(bundle))
    const manifest = JSON.parse(String(files.get('manifest.json'))) as Bundle
    const path = `agents/${kid}/log`
    const log = Buffer.from(files.get(path) as Buffer)
    log.write('x', log.indexOf('session.created'), 'latin1')
    Object.assign(manifest.agents[1] as object, {
      log_sha256: createHash('sha256').update(log).digest('hex'),
    })
    files.set(path, log)
    files.set('manifest.json', Buffer.from(JSON.stringify(manifest)))
    const to = tempStore()
    await expect(imported(to, packed(files))).rejects.toThrow('is damaged')
    expect([to.agentIds(), to.names(null).ids(), to.visits.markedIds()]).toEqual([[], [], []])
  },
)
