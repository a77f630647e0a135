/**
 * A turn with a `context` is killed at one of its disk steps, and the setting changes before the turn continues: each of its requests
 * begins with the conversation with which the turn began.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { checkHome } from '../../src/audit/check.js'
import { configure } from '../../src/operations/configure.js'
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

/** A model that writes the messages of each request to a file. It reads a file once in each turn. */
function writingModel(root: string, file: string): PluginFacts {
  const source = `
    const { appendFileSync } = require('node:fs')
    module.exports = {
      kind: 'model', description: 'writes its requests', options: {},
      async *complete(request) {
        const messages = request.messages()
        appendFileSync(${JSON.stringify(file)}, JSON.stringify(messages) + '\\n')
        if (messages.at(-1).role === 'user') {
          yield { type: 'tool_call', call: { call_id: 'c' + messages.at(-1).content, name: 'read_file', input: { path: 'x' } } }
          yield { type: 'stop', reason: 'tool_calls' }
          return
        }
        yield { type: 'text', text: 'done' }
        yield { type: 'stop', reason: 'end' }
      },
    }`
  writeFileSync(path.join(root, 'index.cjs'), source)
  const pjson = { substrat: { providers: { writing: './index.cjs' } } }
  return { name: 'writing', version: '1.0.0', root, pjson }
}

test.each([
  ['turn', 'all', ['three']],
  ['last:1', 'turn', ['two', 'three']],
  ['all', 'turn', ['one', 'two', 'three']],
])('with %s, then %s before it continues', async (context, later, expected) => {
  const root = tempDirectory()
  const file = path.join(root, 'requests')
  const plugins = [writingModel(root, file)]
  const send = (store: FileStore, agentId: string, content: string): Promise<void> => {
    const request = { ...PLAIN, ...messageOptions({ key: content }), agentId, content }
    return deliverMessage(contextAt(store, { plugins }).ctx, request, () => undefined)
  }
  const lefts = new Set<string>()
  for (let step = 1, wasKilled = true; wasKilled; step++) {
    const at = `step ${step}`
    const store = tempStore()
    const id = await newAgent(store, { name: 'night', provider: 'writing', workspace: root })
    await configure(contextAt(store, { plugins }).ctx, id, { context })
    for (const each of ['one', 'two']) await send(store, id, each)
    rmSync(file)
    wasKilled = await killedAt(step, () => send(store, id, 'three').catch((error) => error))
    clearFaults()
    const left = copyOf(store)
    const { ctx } = contextAt(left, { plugins })
    const isBegun = recordsOf(left, id).filter(({ kind }) => kind === 'run.started').length === 3
    lefts.add(recordsOf(left, id).at(-1)?.kind ?? '')
    if (isBegun) {
      await configure(ctx, id, { context: later })
      await recover(ctx, { all: true, agents: [] }, 'all', () => undefined)
    }
    await send(left, id, 'three')
    const requests = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const request of requests) expect(prompts(request), at).toEqual(expected)
    expect(requests.at(-1).at(-1), at).toMatchObject({ role: 'tool' })
    expect(checkHome(left, { isRecovered: true }), at).toEqual([])
  }
  expect([...lefts]).toEqual(expect.arrayContaining(['model.requested', 'tool.started', 'status.derived']))
})

function prompts(messages: { role: string; content: string }[]): string[] {
  return messages.flatMap(({ role, content }) =>
    role === 'user' && !content.startsWith('[substrat]') ? [content] : [],
  )
}
