import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { limits } from '../../../src/limits.js'
import type { ModelMessage } from '../../../src/provider/contract.js'
import type { CallRecord } from '../../../src/schema/types.js'
import type { NewRecord } from '../../../src/session/records.js'
import type { Session } from '../../../src/session/session.js'
import { openCalls } from '../../../src/turn/prompt/calls.js'
import { conversation, exchanges, recoveryNotice, responsesBefore } from '../../../src/turn/prompt/history.js'
import { promptOf } from '../../../src/turn/prompt/prompt-records.js'
import { completedRecord } from '../../../src/turn/step/records.js'
import {
  appendTurn,
  beginning,
  newSession,
  replied,
  startedRun,
  userMessage,
} from '../../support/sessions.js'
import { tempStore } from '../../support/temp.js'

let session: Session

beforeEach(async () => {
  session = await newSession(tempStore())
})

test('a conversation has all messages in order, mail and blobs included, but no failures', () => {
  const large = 'x'.repeat(limits.inlineBytesMax + 1)
  appendTurn(session, 'one', large)
  const failed: string = randomUUID()
  session.append([
    ...beginning(session, failed, 'two'),
    { kind: 'run.failed', run_id: failed, error: { type: 'crashed', message: 'not for the model' } },
  ])
  const mailed: string = randomUUID()
  session.append([
    startedRun(mailed),
    {
      kind: 'mail.delivered',
      run_id: mailed,
      message_id: randomUUID(),
      from: 'operator',
      mail_kind: 'request',
      content: 'three',
      sent_at: '2026-01-01T00:00:00.000Z',
    },
  ])
  expect(conversation(session)).toEqual([
    { role: 'user', content: 'one' },
    { role: 'assistant', content: large, tool_calls: [] },
    { role: 'user', content: 'two' },
    { role: 'user', content: 'three' },
  ])
  expect(promptOf(session)).toBe('three')
})

test('an agent without a message has no prompt', () => {
  expect(promptOf(session)).toBe('')
  expect(conversation(session)).toEqual([])
})

describe('a turn that begins a new conversation', () => {
  const fresh = (content: string): NewRecord[] =>
    beginning(session, randomUUID(), content).map((record) =>
      record.kind === 'run.started' ? { ...record, fresh: true } : record,
    )

  test('leaves out all earlier messages, also the summary of a compaction and the program of before', () => {
    appendTurn(session, 'one', 'first')
    const { last_seq, last_offset, run } = session.state
    session.append([
      {
        kind: 'context.compacted',
        run_id: run?.run_id as string,
        content: 'a summary',
        how: 'summary',
        keeps_seq: last_seq,
        keeps_offset: last_offset,
        messages: 2,
        responses: 1,
      },
      { kind: 'session.seeded', from: session.id, content: 'User: one' },
    ])
    session.append(fresh('two'))
    expect(conversation(session)).toEqual([{ role: 'user', content: 'two' }])
    expect(responsesBefore(session)).toBe(0)
    expect(session.state).toMatchObject({ provider_state: null, seed: null, isSeedDue: false })
  })

  test('is part of the conversation of the turns after it, and of a run that continues it', () => {
    appendTurn(session, 'one', 'first')
    session.append(fresh('two'))
    const run_id = session.state.run?.run_id as string
    session.append([
      { kind: 'provider.state', run_id, state: 'bmF0aXZl' },
      { kind: 'run.interrupted', run_id, reason: 'process_exit' },
    ])
    const again: string = randomUUID()
    session.append([
      { ...startedRun(again), fresh: true, origin: 'continuation', continues: run_id, auto: false },
    ])
    expect(conversation(session)).toEqual([{ role: 'user', content: 'two' }])
    expect(session.state.provider_state).toBe('bmF0aXZl')
    session.append([replied(again, 'second'), completedRecord(again, null)])
    appendTurn(session, 'three', 'third')
    expect(conversation(session).map(({ content }) => content)).toEqual(['two', 'second', 'three', 'third'])
  })
})

describe('a turn that the model refused', () => {
  const refuse = (run: string, said?: string): NewRecord => ({
    kind: 'run.failed',
    run_id: run,
    error: { type: 'refused', message: 'it will not' },
    ...(said === undefined ? {} : { said }),
  })
  const told = (): string[] => conversation(session).map(({ role, content }) => `${role}: ${content}`)
  let run: string

  beforeEach(() => {
    appendTurn(session, 'one', 'first')
    run = randomUUID()
    session.append([...beginning(session, run, 'how is it made?'), { kind: 'model.requested', run_id: run }])
  })

  test('is left out, with its prompt and the text before the refusal', () => {
    session.append([refuse(run, 'To begin with')])
    expect(told()).toEqual(['user: one', 'assistant: first'])
    appendTurn(session, 'two', 'second')
    expect(told()).toEqual(['user: one', 'assistant: first', 'user: two', 'assistant: second'])
  })

  test('is included if the turn is tried again, and left out if that is refused too', () => {
    session.append([refuse(run)])
    const again: string = randomUUID()
    session.append([{ ...startedRun(again), origin: 'continuation', continues: run, auto: false }])
    expect(told()).toEqual(['user: one', 'assistant: first', 'user: how is it made?'])
    expect(promptOf(session)).toBe('how is it made?')
    session.append([{ kind: 'model.requested', run_id: again }, refuse(again)])
    expect(told()).toEqual(['user: one', 'assistant: first'])
  })

  test('leaves a notice of the tools that it ran, which a retry replaces', () => {
    const calls: CallRecord[] = [{ call_id: 'a', name: 'shell', input: {} }]
    session.append([
      replied(run, 'looking'),
      { kind: 'model.responded', run_id: run, stop: 'tool_calls', calls },
    ])
    session.append([
      { kind: 'tool.finished', run_id: run, call_id: 'a', tool: 'shell', content: 'ok', is_error: false },
    ])
    session.append([{ kind: 'model.requested', run_id: run }, refuse(run)])
    expect(told().slice(2)).toEqual([
      expect.stringMatching(/^user: \[substrat\] .* after these tools had run: shell\./),
    ])
    const again: string = randomUUID()
    session.append([{ ...startedRun(again), origin: 'continuation', continues: run, auto: false }])
    expect(told().slice(2)).toEqual(['user: how is it made?', 'assistant: looking', 'tool: ok'])
  })

  test('differs from a turn that failed in another way, which is included', () => {
    session.append([
      { kind: 'run.failed', run_id: run, error: { type: 'invalid_response', message: 'no sense' } },
    ])
    expect(told()).toEqual(['user: one', 'assistant: first', 'user: how is it made?'])
  })
})

describe('calls and their results', () => {
  const run: string = randomUUID()
  const call = (call_id: string): CallRecord => ({ call_id, name: 'shell', input: { command: call_id } })
  const responded = (...calls: CallRecord[]): NewRecord => ({
    kind: 'model.responded',
    run_id: run,
    stop: 'tool_calls',
    calls,
  })
  const finished = (call_id: string, content = call_id): NewRecord => ({
    kind: 'tool.finished',
    run_id: run,
    call_id,
    tool: 'shell',
    content,
    is_error: false,
  })
  const notice: NewRecord = { kind: 'message.notice', run_id: run, content: 'interrupted', attempt: 1 }
  const told = (): string[] =>
    conversation(session).map((message) => (message.role === 'tool' ? message.call_id : message.content))

  beforeEach(() => {
    session.append([...beginning(session, run, 'go'), { kind: 'model.requested', run_id: run }])
    session.append([replied(run, 'looking'), responded(call('a'), call('b'))])
  })

  test('a call that a person changed runs with the changed arguments, and its result tells the model', () => {
    const input = { command: 'ls' }
    const edit: NewRecord = { kind: 'tool.edited', run_id: run, call_id: 'b', tool: 'shell', input }
    session.append([edit])
    expect(openCalls(session).map((each) => each.input)).toEqual([{ command: 'a' }, input])
    session.append([finished('a'), finished('b', 'done')])
    const [asked, , result] = conversation(session).slice(-3)
    expect(asked).toMatchObject({ tool_calls: [{ input: { command: 'a' } }, { input: { command: 'b' } }] })
    expect(result?.content).toBe(
      '[substrat] The operator changed the arguments of this call before it ran: {"command":"ls"}\ndone',
    )
    expect(() => session.append([edit])).toThrow('the call b is finished already')
  })

  test('the changed arguments may be in a blob', () => {
    const input = { command: 'x'.repeat(limits.inlineBytesMax) }
    const input_blob = session.writeBlob(Buffer.from(JSON.stringify(input)))
    session.append([{ kind: 'tool.edited', run_id: run, call_id: 'a', tool: 'shell', input_blob }])
    expect(openCalls(session)[0]?.input).toEqual(input)
  })

  test('are in the order of the calls, not of their ends', () => {
    session.append([finished('b'), finished('a')])
    expect(told()).toEqual(['go', 'looking', 'a', 'b'])
  })

  test('are not separated by a notice or message that arrived in between', () => {
    session.append([finished('a'), notice, finished('b')])
    expect(told()).toEqual(['go', 'looking', 'a', 'b', 'interrupted'])
    const next: string = randomUUID()
    session.append([{ kind: 'run.completed', run_id: run }, startedRun(next), userMessage(next, 'and?')])
    expect(told()).toEqual(['go', 'looking', 'a', 'b', 'interrupted', 'and?'])
  })

  test('that are missing have a placeholder, so that each call has a result', () => {
    session.append([finished('b')])
    expect(conversation(session)).toMatchObject([
      {},
      { tool_calls: [{ call_id: 'a' }, { call_id: 'b' }] },
      { role: 'tool', call_id: 'a', content: 'There is no result yet.', is_error: true },
      { role: 'tool', call_id: 'b', content: 'b', is_error: false },
    ])
  })

  test('in one response are not confused with those in another with the same ids', () => {
    session.append([finished('a', 'first'), finished('b'), { kind: 'model.requested', run_id: run }])
    session.append([responded(call('a'))])
    session.append([finished('a', 'second')])
    const results = conversation(session).filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual(['first', 'b', 'second'])
  })

  test('are one exchange; each message is its own', () => {
    session.append([finished('a'), finished('b'), notice])
    expect(exchanges(session).map(({ messages, isPrompt }) => [messages.length, isPrompt])).toEqual([
      [1, true],
      [3, false],
      [1, false],
    ])
  })

  test('in the open run are found with their inputs, from the line or a blob', () => {
    const input = { command: 'x'.repeat(limits.inlineBytesMax) }
    const input_blob = session.writeBlob(Buffer.from(JSON.stringify(input)))
    session.append([finished('a'), finished('b'), { kind: 'model.requested', run_id: run }])
    session.append([responded(call('a'), { call_id: 'c', name: 'shell', input_blob })])
    expect(openCalls(session)).toEqual([call('a'), { call_id: 'c', name: 'shell', input }])
  })
})

test('a final response recorded before its reply, as in logs from before there were tools, is one message', () => {
  const run: string = randomUUID()
  session.append([...beginning(session, run, 'hi'), { kind: 'model.requested', run_id: run }])
  session.append([{ kind: 'model.responded', run_id: run, stop: 'end' }, replied(run, 'hello')])
  expect(conversation(session)).toEqual([
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'hello', tool_calls: [] },
  ])
})

test('a model receives the notice of an interruption only after it has called a tool', () => {
  const run: string = randomUUID()
  expect(recoveryNotice(session.state)).toBeNull()
  session.append([...beginning(session, run, 'hi'), { kind: 'model.requested', run_id: run }])
  expect(recoveryNotice(session.state)).toBeNull()
  const calls = [{ call_id: 'a', name: 'shell', input: {} }]
  session.append([{ kind: 'model.responded', run_id: run, stop: 'tool_calls', calls }])
  expect(recoveryNotice(session.state)).toMatch(/^\[substrat\] .* interrupted/)
})

test('a fork of an earlier version, or with another provider, continues from the text', () => {
  session.append([{ kind: 'session.seeded', from: randomUUID(), content: 'as text' }])
  appendTurn(session, 'thanks', 'welcome')
  expect(conversation(session)).toEqual([
    { role: 'user', content: 'as text' },
    { role: 'user', content: 'thanks' },
    { role: 'assistant', content: 'welcome', tool_calls: [] },
  ])
  expect(responsesBefore(session)).toBe(0)
})

describe('a fork with messages', () => {
  const REASONING = { reasoning: 'because', server: 'example.com' }
  const MESSAGES: ModelMessage[] = [
    { role: 'user', content: 'look' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ call_id: 'c', name: 'shell', input: { command: 'ls' } }],
      items: [REASONING],
    },
    {
      role: 'tool',
      call_id: 'c',
      name: 'shell',
      content: 'x'.repeat(limits.inlineBytesMax),
      is_error: false,
    },
    { role: 'assistant', content: 'two files', tool_calls: [] },
  ]

  beforeEach(() => {
    session.append([
      {
        kind: 'session.seeded',
        from: randomUUID(),
        content: 'as text',
        conversation: JSON.stringify(MESSAGES),
        responses: 4,
      },
    ])
    appendTurn(session, 'thanks', 'welcome')
  })

  test('continues from the messages, not from the text', () => {
    expect(conversation(session)).toEqual([
      ...MESSAGES,
      { role: 'user', content: 'thanks' },
      { role: 'assistant', content: 'welcome', tool_calls: [] },
    ])
    expect(responsesBefore(session)).toBe(4)
  })

  test('is compacted as one exchange', () => {
    const [seed, prompt] = exchanges(session)
    expect(seed).toMatchObject({ messages: MESSAGES, isPrompt: true })
    expect(prompt?.messages).toEqual([{ role: 'user', content: 'thanks' }])
  })
})
