import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootId } from '../../src/host/identity.js'
import { limits } from '../../src/limits.js'
import type { ModelEvent, ModelMessage, ModelProvider, ToolCall } from '../../src/provider/contract.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { Session } from '../../src/session/session.js'
import { conversation } from '../../src/turn/prompt/history.js'
import type { TurnEvent } from '../../src/turn/step/turn-event.js'
import { findToken } from '../../src/turn/tokens.js'
import { beginning, newSession } from '../support/sessions.js'
import { tempDirectory, tempStore } from '../support/temp.js'
import { serverThat } from '../support/toolboxes.js'
import { FakeStop, kindsOf, model, runTurn, says, TOKEN_EXPIRY, toolboxAt } from '../support/turns.js'

const END: ModelEvent = { type: 'stop', reason: 'end' }
const CALLS: ModelEvent = { type: 'stop', reason: 'tool_calls' }
let session: Session
let workspace: string

beforeEach(async () => {
  workspace = tempDirectory()
  session = await newSession(tempStore(), { workspace })
})

const call = (name: string, input: object, call_id = 'c1'): ModelEvent => ({
  type: 'tool_call',
  call: { call_id, name, input } as ToolCall,
})

function approval(token_id: string | null | undefined): TurnEvent {
  const decided = { token_id: token_id as string, decision: 'approve' as const, text: '', digest: 'd' }
  return { type: 'decided', provider: 'model', boot_id: bootId(), decided, asks: [], sources: [] }
}

/** A model that answers with these responses in turn, and then with a word. */
function script(...responses: ModelEvent[][]): { provider: ModelProvider; heard: ModelMessage[][] } {
  const heard: ModelMessage[][] = []
  const provider = model((request) => {
    const messages = request.messages()
    heard.push(messages)
    const response = responses[messages.filter(({ role }) => role === 'assistant').length]
    return says(...(response ?? [{ type: 'text', text: 'done' } as const, END]))
  })
  return { provider, heard }
}

function records<K extends SessionRecord['kind']>(kind: K): SessionRecord<K>[] {
  const all = [...session.records({ seq: 1, offset: 0 })]
  return all.filter((record) => record.kind === kind) as unknown as SessionRecord<K>[]
}

describe('a tool call', () => {
  test('runs, and the model receives its result right after it', async () => {
    const { provider, heard } = script([
      { type: 'text', text: 'Let me see.' },
      call('shell', { command: 'echo hi' }),
      CALLS,
    ])
    const run = await runTurn(session, provider, { allow: ['shell'] })
    expect(run).toMatchObject({ status: 'completed', steps: 2 })
    expect(heard[1]).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [{ call_id: 'c1', name: 'shell', input: { command: 'echo hi' } }],
      },
      { role: 'tool', call_id: 'c1', name: 'shell', content: 'hi\n', is_error: false },
    ])
    expect(kindsOf(session).slice(4)).toEqual([
      'model.requested',
      'status.derived',
      'message.agent',
      'model.responded',
      'tool.started',
      'tool.finished',
      'model.requested',
      'message.agent',
      'model.responded',
      'run.completed',
      'session.suspended',
      'status.derived',
    ])
  })

  test('whose arguments could not be read does not run: the model receives the error as its result', async () => {
    const spoiled: ModelEvent = {
      type: 'tool_call',
      call: {
        call_id: 'a',
        name: 'shell',
        input: {},
        arguments_error: { message: 'they are not valid JSON', text: '{"command": "touch ran' },
      },
    }
    const { provider, heard } = script([spoiled, call('shell', { command: 'echo hi' }, 'b'), CALLS])
    const run = await runTurn(session, provider, { allow: ['all'] })
    expect(run.status).toBe('completed')
    expect(records('tool.started').map(({ call_id }) => call_id)).toEqual(['b'])
    expect(records('model.responded')[0]?.calls?.[0]).toMatchObject({
      input: {},
      arguments_error: { text: '{"command": "touch ran' },
    })
    expect(heard[1]?.slice(-2)).toMatchObject([
      { call_id: 'a', content: expect.stringContaining('they are not valid JSON'), is_error: true },
      { call_id: 'b', content: 'hi\n', is_error: false },
    ])
  })

  test('without readable arguments, three responses in a row, fails the turn with the cause', async () => {
    const spoiled = (id: string): ModelEvent => ({
      type: 'tool_call',
      call: {
        call_id: id,
        name: 'shell',
        input: {},
        arguments_error: { message: 'they are not valid JSON', text: '{' },
      },
    })
    const good = call('shell', { command: 'true' }, 'g')
    const { provider } = script(
      [spoiled('a'), CALLS],
      [spoiled('b'), CALLS],
      [spoiled('c'), good, CALLS],
      [spoiled('d'), CALLS],
      [spoiled('e'), spoiled('f'), CALLS],
      [spoiled('h'), CALLS],
      [],
    )
    const run = await runTurn(session, provider, { allow: ['all'] })
    expect(run).toMatchObject({ status: 'failed', error: { type: 'invalid_response' } })
    expect(run.error?.message).toBe(
      'the arguments of its calls could not be read, 3 responses in a row; the latest called shell: they are not valid JSON',
    )
    expect(records('model.responded')).toHaveLength(6)
    expect(records('tool.finished')).toHaveLength(8)
  })

  test('is recorded with its process group if it is a program, else without one', async () => {
    const calls = [
      call('shell', { command: 'true' }, 'a'),
      call('write_file', { path: 'x', content: '' }, 'b'),
    ]
    await runTurn(session, script([...calls, CALLS]).provider, { allow: ['all'] })
    expect(records('tool.started').map(({ tool, group }) => [tool, group !== undefined])).toEqual([
      ['shell', true],
      ['write_file', false],
    ])
  })

  test('holds no slot: only a request to the model does, and releases it', async () => {
    let held = 0
    const seen: number[] = []
    const takeSlot = async (): Promise<{ release(): Promise<void> }> => {
      held += 1
      return {
        release: async () => {
          held -= 1
        },
      }
    }
    const { provider } = script([call('read_file', { path: 'x' }), CALLS])
    const { complete } = provider
    provider.complete = (...asked) => {
      seen.push(held)
      return complete(...asked)
    }
    const toolbox = toolboxAt(session)
    const run = toolbox.run.bind(toolbox)
    toolbox.run = (...made) => {
      seen.push(held)
      return run(...made)
    }
    await runTurn(session, provider, { toolbox, ports: { takeSlot } })
    expect([seen, held]).toEqual([[1, 0, 1], 0])
  })

  test('passes to its program neither the secrets that the provider keeps to itself nor the token of a person', async () => {
    vi.stubEnv('CANARY_KEY', 'canary')
    vi.stubEnv('SUBSTRAT_TOKEN', 'canary')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { provider, heard } = script([
      call('shell', { command: 'echo "[$CANARY_KEY$SUBSTRAT_TOKEN]"' }),
      CALLS,
    ])
    provider.secrets = () => ['CANARY_KEY']
    await runTurn(session, provider, { allow: ['shell'] })
    expect(heard[1]?.at(-1)).toMatchObject({ role: 'tool', content: '[]\n' })
  })

  test('that a dead process had begun is known to be made again', async () => {
    const { provider } = script([call('read_file', { path: 'x' }), CALLS])
    const isRepeat: boolean[] = []
    const watched = (): ReturnType<typeof toolboxAt> => {
      const toolbox = toolboxAt(session)
      const run = toolbox.run.bind(toolbox)
      toolbox.run = (made, facts, ...rest) => {
        isRepeat.push(facts.isRepeat)
        return run(made, facts, ...rest)
      }
      return toolbox
    }
    await runTurn(session, provider, { toolbox: watched() })
    expect(isRepeat).toEqual([false])
    const run_id = randomUUID()
    session.append([...beginning(session, run_id, 'once more'), { kind: 'model.requested', run_id }])
    session.append([
      {
        kind: 'model.responded',
        run_id,
        stop: 'tool_calls',
        calls: [{ call_id: 'c1', name: 'read_file', input: { path: 'x' } }],
      },
      { kind: 'tool.started', run_id, call_id: 'c1', tool: 'read_file' },
    ])
    const first = {
      type: 'go_on',
      provider: 'model',
      boot_id: bootId(),
      auto: false,
      notice: null,
      sources: [],
    }
    await runTurn(session, provider, { toolbox: watched(), first: first as TurnEvent })
    expect(isRepeat).toEqual([false, true])
  })

  test('that fails returns an error to the model, and the turn continues', async () => {
    const { provider, heard } = script([call('shell', { command: 'exit 3' }), CALLS])
    expect((await runTurn(session, provider, { allow: ['all'] })).status).toBe('completed')
    expect(heard[1]?.at(-1)).toMatchObject({ content: '[exit status 3]', is_error: true })
  })

  test('for a missing tool has an error as its result', async () => {
    const { provider, heard } = script([call('teleport', {}), CALLS])
    expect((await runTurn(session, provider)).status).toBe('completed')
    expect(heard[1]?.at(-1)).toMatchObject({ content: 'There is no tool teleport.', is_error: true })
  })

  test('with more output than the model receives has its whole output in a blob', async () => {
    const { provider } = script([call('shell', { command: 'yes | head -c 100000' }), CALLS])
    await runTurn(session, provider, { allow: ['shell'] })
    const [{ content, output } = { content: '', output: undefined }] = records('tool.finished')
    expect(content).toContain('bytes left out')
    expect(session.text(output as { blob: string; bytes: number })).toHaveLength(100_000)
  })

  test('with a large input has the input in a blob, and later requests contain it whole', async () => {
    const content = 'x'.repeat(limits.inlineBytesMax)
    const { provider, heard } = script([call('write_file', { path: 'big', content }), CALLS])
    await runTurn(session, provider, { allow: ['all'] })
    expect(records('model.responded')[0]?.calls).toEqual([
      {
        call_id: 'c1',
        name: 'write_file',
        input_blob: expect.objectContaining({ bytes: content.length + 27 }),
      },
    ])
    expect(heard[1]?.[1]).toMatchObject({ tool_calls: [{ input: { path: 'big', content } }] })
  })

  test('with long or binary results keeps the log readable', async () => {
    const command = 'printf "\\000\\001\\377\\342\\200\\250"; head -c 300000 /dev/zero'
    await runTurn(session, script([call('shell', { command }), CALLS]).provider, { allow: ['all'] })
    expect(session.state.run?.status).toBe('completed')
    expect(conversation(session)).toHaveLength(4)
  })
})

describe('a response with a contract violation fails the turn but not the session:', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  const BROKEN: [string, unknown[]][] = [
    ['no id', [{ name: 'shell', input: {} }]],
    ['an empty id', [{ call_id: '', name: 'shell', input: {} }]],
    ['an id that is not a string', [{ call_id: 1, name: 'shell', input: {} }]],
    ['an id too long for a line', [{ call_id: 'x'.repeat(2 ** 20), name: 'shell', input: {} }]],
    ['no name', [{ call_id: 'c1', input: {} }]],
    ['a name too long for a line', [{ call_id: 'c1', name: 'x'.repeat(2 ** 20), input: {} }]],
    ['no input', [{ call_id: 'c1', name: 'shell' }]],
    ['an input that is a list', [{ call_id: 'c1', name: 'shell', input: [] }]],
    ['an input that is a text', [{ call_id: 'c1', name: 'shell', input: '{}' }]],
    ['an input that is null', [{ call_id: 'c1', name: 'shell', input: null }]],
    ['an input with a cycle', [{ call_id: 'c1', name: 'shell', input: cyclic }]],
    ['an input that JSON cannot express', [{ call_id: 'c1', name: 'shell', input: { n: 1n } }]],
    ['an id twice', [1, 2].map(() => ({ call_id: 'c1', name: 'shell', input: {} }))],
    ['an undefined call', [undefined]],
    [
      'too many calls',
      Array.from({ length: limits.callsMax + 1 }, (_, n) => ({ call_id: `${n}`, name: 'x', input: {} })),
    ],
  ]

  test.each(BROKEN)('%s', async (_, calls) => {
    const events = calls.map((each) => ({ type: 'tool_call', call: each }) as ModelEvent)
    const run = await runTurn(
      session,
      model(() => says(...events, CALLS)),
    )
    expect(run).toMatchObject({ status: 'failed', error: { type: 'crashed' } })
    expect(run.error?.message).toContain('the provider broke its contract')
    expect(session.state.state).toBe('suspended')
    expect((await runTurn(session, script().provider, { prompt: 'again' })).status).toBe('completed')
  })
})

test('the maximum number of calls, with the longest names and inputs, fits the log', async () => {
  const long = '\u2028'.repeat(limits.callNameCharactersMax - 10)
  const input = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`field ${n}`, '\u0001'.repeat(500)]),
  )
  const calls = Array.from({ length: limits.callsMax }, (_, n) => call('write_file', input, `${long}${n}`))
  const run = await runTurn(session, script([...calls, CALLS]).provider)
  expect(run.wait?.call_ids).toHaveLength(limits.callsMax)
  expect(records('run.waiting')[0]?.asks).toHaveLength(limits.callsMax)
})

describe('a call that may change things and is not allowed', () => {
  const input = { path: 'a.txt', content: 'x'.repeat(100_000) }

  test('parks the run: the secret is printed once it is usable, and is not in the log', async () => {
    const told: [string, string | undefined][] = []
    const onToken = (secret: string): void => void told.push([secret, session.state.run?.wait?.kind])
    const { provider } = script([call('write_file', { path: 'a.txt', content: 'x' }), CALLS])
    const run = await runTurn(session, provider, { ports: { onToken } })
    expect(run).toMatchObject({ status: 'open', wait: { kind: 'approval', deadline_at: TOKEN_EXPIRY } })
    const [[secret, kind]] = told as [[string, string]]
    expect([told.length, kind]).toEqual([1, 'approval'])
    expect(findToken(session.state, secret).token_id).toBe(run.wait?.resume_token_id)
    expect(JSON.stringify([...session.records({ seq: 1, offset: 0 })])).not.toContain(secret.slice(-32))
    expect(session.state.state).toBe('suspended')
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false)
  })

  test('shows the person an excerpt of its input', async () => {
    await runTurn(session, script([call('write_file', input), CALLS]).provider)
    const asked = records('run.waiting')[0]?.asks?.[0]?.input as Record<string, string>
    expect(asked.path).toBe('a.txt')
    expect(asked.content).toMatch(/^x+… \(100000 characters\)$/)
    expect(asked.content?.length).toBeLessThan(limits.asksCharactersMax)
  })

  test('runs with its whole input once approved', async () => {
    const { provider } = script([call('write_file', input), CALLS])
    const parked = await runTurn(session, provider)
    const run = await runTurn(session, provider, { first: approval(parked.wait?.resume_token_id) })
    expect(run.status).toBe('completed')
    expect(records('tool.finished')[0]).toMatchObject({ content: 'wrote 100000 bytes', is_error: false })
  })

  test('starts its tool server and runs once approved', async () => {
    const { provider } = script([call('notes__add', { a: 1, b: 2 }), CALLS])
    const servers = { notes: serverThat('well') }
    const parked = await runTurn(session, provider, { toolbox: toolboxAt(session, { servers }) })
    expect(parked.wait?.kind).toBe('approval')
    const run = await runTurn(session, provider, {
      first: approval(parked.wait?.resume_token_id),
      toolbox: toolboxAt(session, { servers }),
    })
    expect(run.status).toBe('completed')
    expect(records('tool.finished')[0]).toMatchObject({ content: '3', is_error: false })
    expect(records('server.started').map(({ server }) => server)).toEqual(['notes', 'notes'])
  })

  test('waits with the other calls of its response; those that need no approval run first', async () => {
    const calls = [
      call('write_file', { path: 'a', content: '' }, 'a'),
      call('shell', { command: 'echo hi' }, 'b'),
      call('edit_file', {}, 'c'),
      call('ask_operator', { question: '?' }, 'd'),
    ]
    const run = await runTurn(session, script([...calls, CALLS]).provider, { allow: ['shell'] })
    expect(run.wait?.call_ids).toEqual(['a', 'c'])
    expect(run.calls.map(({ status }) => status)).toEqual(['pending', 'finished', 'pending', 'pending'])
  })
})

test('a question to the person parks the run, and the answer becomes its result', async () => {
  const { provider, heard } = script([call('ask_operator', { question: 'Which?' }), CALLS])
  const parked = await runTurn(session, provider, { allow: ['all'] })
  expect(parked.wait?.kind).toBe('input')
  const decided = {
    token_id: parked.wait?.resume_token_id as string,
    decision: 'input',
    text: 'the left one',
  } as const
  const run = await runTurn(session, provider, {
    first: {
      type: 'decided',
      provider: 'model',
      boot_id: bootId(),
      decided: { ...decided, digest: 'd' },
      asks: [],
      sources: [],
    },
  })
  expect(run.status).toBe('completed')
  expect(heard[1]?.at(-1)).toMatchObject({ role: 'tool', content: 'the left one', is_error: false })
})

describe('--max-steps', () => {
  test('ends an endless turn with a result for every call', async () => {
    const endless = model((request) =>
      says(call('shell', { command: 'true' }, `c${request.messages().length}`), CALLS),
    )
    const run = await runTurn(session, endless, { allow: ['all'], stepsMax: 3 })
    expect(run).toMatchObject({ status: 'failed', steps: 3, error: { type: 'max_steps' } })
    expect(run.error?.message).toContain('--max-steps')
    expect(records('tool.finished')).toHaveLength(3)
  })

  test('counts the steps of each run from zero, even if the run continues calls of another run', async () => {
    const { provider } = script([call('shell', { command: 'true' }), CALLS])
    const waiting = await runTurn(session, provider, { stepsMax: 1 })
    session.append([{ kind: 'run.interrupted', run_id: waiting.run_id, reason: 'wait_timeout' }])
    const first: TurnEvent = {
      type: 'begin',
      provider: 'model',
      run: {
        run_id: session.id,
        boot_id: bootId(),
        prompt: { origin: 'continuation', continues: waiting.run_id, auto: false, content: null },
        key: null,
        digest: null,
        turn_timeout_ms: null,
        allow: ['all'],
        steps_max: 1,
        sources: [],
      },
    }
    expect((await runTurn(session, provider, { first })).status).toBe('completed')
  })
})

test('a turn stopped while a tool runs records a result for that call and for each later one', async () => {
  const stop = new FakeStop()
  const calls = [call('shell', { command: 'sleep 3600' }, 'a'), call('shell', { command: 'echo never' }, 'b')]
  session.onRecord(({ kind }) => {
    if (kind === 'tool.started') stop.stop('cancelled')
  })
  const run = await runTurn(session, script([...calls, CALLS]).provider, { allow: ['all'], stop })
  expect(run).toMatchObject({ status: 'cancelled', reason: 'cancelled' })
  expect(records('tool.finished').map(({ call_id, content }) => [call_id, content])).toEqual([
    ['a', 'Interrupted: the turn was stopped.'],
    ['b', 'Not run: the turn was cancelled.'],
  ])
})
