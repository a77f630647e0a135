/** A program's own tools and notes, as `show` and `export` have them. */
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { describeAgent } from '../../src/console/print/describe.js'
import { toMarkdown } from '../../src/console/print/markdown.js'
import { exportConversation } from '../../src/operations/export.js'
import { showAgent } from '../../src/operations/list-and-show.js'
import type { ShownAgent } from '../../src/schema/output.js'
import type { NewRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { newSession } from '../support/sessions.js'
import { tempStore } from '../support/temp.js'

const run_id = randomUUID()
const BEGUN: NewRecord[] = [
  { kind: 'session.activated', boot_id: 'b' },
  {
    kind: 'run.started',
    run_id,
    boot_id: 'b',
    origin: 'operator',
    provider: 'claude-code',
    model: null,
    options: {},
  },
  { kind: 'message.user', message_id: randomUUID(), run_id, content: 'test it', origin: 'operator' },
]
let store: FileStore
let session: Session

beforeEach(async () => {
  store = tempStore()
  session = await newSession(store)
})

function started(call_id: string, command: string): NewRecord {
  return { kind: 'program.tool_started', run_id, call_id, tool: 'Bash', input: { command } }
}

function finished(call_id: string, content: string, is_error = false): NewRecord {
  return { kind: 'program.tool_finished', run_id, call_id, tool: 'Bash', content, is_error }
}

function said(content: string): NewRecord {
  return { kind: 'message.agent', message_id: randomUUID(), run_id, content }
}

function show(): ShownAgent {
  return showAgent(store, session.id)
}

describe('show', () => {
  test('has the tools that run now, oldest first, and not those that ended', () => {
    session.append([...BEGUN, started('a', 'make'), started('b', 'npm test'), finished('a', 'made')])
    session.append([started('c', 'ls')])
    expect(show().doing).toMatchObject([
      { tool: 'Bash', input: { command: 'npm test' } },
      { tool: 'Bash', input: { command: 'ls' } },
    ])
    expect(describeAgent(show())).toMatch(/^doing {8}Bash: npm test, \d+ s$/m)
  })

  test("has the input of a model's tool, which the response has", () => {
    const calls = [{ call_id: 'm', name: 'shell', input: { command: 'npm test' } }]
    session.append([
      ...BEGUN,
      { kind: 'model.requested', run_id },
      said('I run the tests.'),
      { kind: 'model.responded', run_id, stop: 'tool_calls', calls },
      { kind: 'tool.started', run_id, call_id: 'm', tool: 'shell' },
    ])
    expect(show().doing).toMatchObject([{ tool: 'shell', input: { command: 'npm test' } }])
    expect(show()).toMatchObject({ reply: 'I run the tests.', reply_is: 'so_far' })
    expect(describeAgent(show())).toContain('text so far  I run the tests.')
  })

  test('says whether the reply ended the latest turn or is of an earlier one', () => {
    expect(show()).toMatchObject({ reply: null, reply_is: null, doing: [] })
    session.append([...BEGUN, said('fine'), { kind: 'run.completed', run_id }])
    expect(show()).toMatchObject({ reply: 'fine', reply_is: 'final' })
    const later = BEGUN.slice(1).map((record) => ({ ...record, run_id: randomUUID() })) as NewRecord[]
    session.append(later.slice(0, 1))
    expect(show()).toMatchObject({ reply: 'fine', reply_is: 'previous' })
    expect(describeAgent(show())).toContain('reply        (previous turn) fine')
  })
})

test('export has them before the reply, as a list', () => {
  session.append([...BEGUN, started('a', 'npm test')])
  session.carry({ kind: 'program.note', run_id, content: 'the request is retried' })
  session.append([
    finished('a', '2 failed', true),
    said('Two tests fail.'),
    { kind: 'run.completed', run_id },
  ])
  const conversation = exportConversation(store, session.id)
  expect(conversation.messages[0]).not.toHaveProperty('acts')
  expect(conversation.messages[1]?.acts).toMatchObject([
    { tool: 'Bash', input: { command: 'npm test' }, output: '2 failed', is_error: true },
    { note: 'the request is retried' },
  ])
  expect(toMarkdown(conversation)).toContain(
    '\n\n- `Bash: npm test` (failed)\n- the request is retried\n\nTwo tests fail.\n',
  )
})
