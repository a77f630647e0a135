/** A command that is refused and killed at one of its disk steps: the log has the refusal once or not, and its repetition runs once. */
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { deliverMessage } from '../../src/operations/message/deliver-message.js'
import { PLAIN } from '../../src/operations/message/request.js'
import { recover } from '../../src/operations/recover.js'
import type { PluginFacts } from '../../src/provider/registry.js'
import { messageOptions } from '../../src/schema/message.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { contextAt } from '../support/contexts.js'
import { copyOf, killedAt } from '../support/killed.js'
import { clearFaults } from '../support/operations.js'
import { newAgent, recordsOf } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'

/** A model that answers if the file is there. */
function keyedModel(root: string, key: string): PluginFacts {
  const source = `
    const { existsSync } = require('node:fs')
    module.exports = {
      kind: 'model', description: 'needs a key', options: {},
      check() {
        if (existsSync(${JSON.stringify(key)})) return
        throw Object.assign(new Error('no API key'), { failure: { type: 'authentication' } })
      },
      async *complete() {
        yield { type: 'text', text: 'done' }
        yield { type: 'stop', reason: 'end' }
      },
    }`
  writeFileSync(path.join(root, 'index.cjs'), source)
  return {
    name: 'keyed',
    version: '1.0.0',
    root,
    pjson: { substrat: { providers: { keyed: './index.cjs' } } },
  }
}

test('a refusal is in the log once or not after a kill at any step of its command, and its message runs once after the mend', async () => {
  const root = tempDirectory()
  const key = path.join(root, 'key')
  const plugins = [keyedModel(root, key)]
  const send = (store: FileStore, agentId: string): Promise<void> => {
    const request = { ...PLAIN, ...messageOptions({ key: 'n1' }), agentId, content: 'Go' }
    return deliverMessage(contextAt(store, { plugins }).ctx, request, () => undefined)
  }
  const countOf = (store: FileStore, agentId: string, kind: string): number =>
    recordsOf(store, agentId).filter((record) => record.kind === kind).length
  const found = new Set<number>()
  for (let step = 1, wasKilled = true; wasKilled; step++) {
    const at = `step ${step}`
    const store = tempStore()
    const id = await newAgent(store, { name: 'night', provider: 'keyed' })
    rmSync(key, { force: true })
    wasKilled = await killedAt(step, () => send(store, id).catch((error) => error))
    clearFaults()
    const left = copyOf(store)
    found.add(countOf(left, id, 'turn.refused'))
    await recover(contextAt(left, { plugins }).ctx, { all: true, agents: [] }, 'roots', () => undefined)
    expect(countOf(left, id, 'run.started'), at).toBe(0)
    await expect(send(left, id), at).rejects.toMatchObject({ code: 'PROVIDER_MISCONFIGURED' })
    expect(countOf(left, id, 'turn.refused'), at).toBe(1)
    writeFileSync(key, '')
    for (let time = 0; time < 2; time++) await send(left, id)
    expect(countOf(left, id, 'run.started'), at).toBe(1)
    expect(checkHome(left, { isRecovered: true }), at).toEqual([])
  }
  // Some kills were before the record was durable, others after that.
  expect([...found].sort()).toEqual([0, 1])
})
