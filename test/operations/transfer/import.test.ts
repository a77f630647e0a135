/** An import that is killed at any disk step, and repeated. */
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { auditHome } from '../../../src/audit/audit.js'
import { deliverMessage } from '../../../src/operations/message/deliver-message.js'
import { exportBundle } from '../../../src/operations/transfer/export-bundle.js'
import { importAgents } from '../../../src/operations/transfer/import.js'
import type { FileStore } from '../../../src/storage/file-store.js'
import { contextAt } from '../../support/contexts.js'
import { copyOf, killedAt } from '../../support/killed.js'
import { sendRequest } from '../../support/send-request.js'
import { newAgent, recordsOf } from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

/** A bundle of an agent with a large message, and of its child. */
async function bundleOfTwo(): Promise<Buffer> {
  const store = tempStore()
  const lead = await newAgent(store, { name: 'lead', workspace: tmpdir() })
  const child = await newAgent(store, { name: 'child', parent: lead, workspace: tmpdir() })
  for (const [id, content] of [
    [lead, 'x'.repeat(100_000)],
    [child, 'hello'],
  ] as const)
    await deliverMessage(contextAt(store).ctx, sendRequest(id, { content }), () => undefined)
  return exportBundle(store, lead, true).bytes
}

function imported(store: FileStore, bundle: Buffer) {
  return importAgents(contextAt(store).ctx, { bundle, name: null, workspace: null })
}

test('leaves no half of an agent, and the next import of the same bundle creates what is missing', async () => {
  const bundle = await bundleOfTwo()
  const empty = tempStore()
  const whole = await imported(copyOf(empty), bundle)
  const ids = whole.agents.map(({ id }) => id)
  const counts: number[] = []
  for (let step = 1; ; step++) {
    const home = copyOf(empty)
    const before = home.address
    const died = await killedAt(
      step,
      () => imported(home, bundle),
      ({ path }) => path.startsWith(before),
    )
    const next = copyOf(home)
    for (const id of next.agentIds())
      expect(recordsOf(next, id).map(({ kind }) => kind)).toContain('session.imported')
    const again = await imported(next, bundle)
    expect(again.agents.map(({ id, path }) => [id, path])).toEqual(
      ids.map((id, index) => [id, index === 0 ? 'lead' : 'lead/child']),
    )
    expect([...next.agentIds()].sort()).toEqual([...ids].sort())
    next.visits.sweep()
    expect((await auditHome(next, true, 0)).findings).toEqual([])
    counts.push(again.created)
    if (!died) break
  }
  expect(new Set(counts)).toEqual(new Set([2, 1, 0]))
})
