/** Turns of the ACP provider, against a scripted agent. */
import { describe, expect, test } from 'vitest'
import type { Inspection, Usage } from '../../src/provider/contract.js'
import { Agent, acp } from './acp/support.js'
import { abortAtText, eventsOf, type Turn } from './driven-agent.js'

const chunk = (text: string, messageId?: string): object => ({
  update: { sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } },
})
const call = (toolCallId: string, fields: object): object => ({
  update: { sessionUpdate: 'tool_call', toolCallId, ...fields },
})
const change = (toolCallId: string, fields: object): object => ({
  update: { sessionUpdate: 'tool_call_update', toolCallId, ...fields },
})
const END = { stop: 'end_turn' }

describe('a session', () => {
  test('is new in the first turn, and its id is reported before the prompt', async () => {
    const agent = new Agent()
    const turn = await agent.turn('hi', {
      onEvent: ({ type }) => {
        if (type === 'state') expect(agent.stored().prompts).toEqual([])
      },
    })
    expect(turn.events.map(({ type }) => type)).toEqual(['state', 'text', 'done'])
    expect(turn.reply).toBe('echo: hi')
  })

  test.each([
    ['resumed', []],
    ['loaded if the agent cannot resume, and its replay ignored', ['cannot resume']],
  ])('is %s in every later turn', async (_, habits) => {
    const agent = new Agent(...habits)
    for (const text of ['one', 'two', 'three']) {
      const turn = await agent.turn(text)
      expect(turn).toMatchObject({ reply: `echo: ${text}`, text: `echo: ${text}` })
      expect(eventsOf(turn, 'tool_finished')).toEqual([])
    }
    expect(agent.stored().prompts).toEqual([['one'], ['two'], ['three']])
  })

  test("is opened in the workspace with substrat's tools in each turn", async () => {
    const agent = new Agent()
    agent.tools = {
      name: 'substrat',
      command: '/bin/substrat',
      args: ['mcp'],
      env: { SUBSTRAT_RUN: 'r' },
      respond: async () => undefined,
    }
    await agent.turn('hi', { workspace: agent.store })
    await agent.turn('hi', { workspace: agent.store })
    const mcpServers = [
      {
        name: 'substrat',
        command: '/bin/substrat',
        args: ['mcp'],
        env: [{ name: 'SUBSTRAT_RUN', value: 'r' }],
      },
    ]
    const place = { cwd: agent.store, mcpServers }
    expect(agent.stored().opened).toEqual([place, { ...place, sessionId: 's1' }])
  })

  test('has a new password for the HTTP server of OpenCode in each turn', async () => {
    const agent = new Agent()
    await agent.turn('hi')
    await agent.turn('hi')
    const [first, second] = agent.stored().passwords
    expect(first).toMatch(/^[\w-]{32}$/)
    expect(second).toMatch(/^[\w-]{32}$/)
    expect(second).not.toBe(first)
  })

  test("has no MCP servers without substrat's tools", async () => {
    const agent = new Agent()
    await agent.turn('hi')
    expect(agent.stored().opened[0].mcpServers).toEqual([])
  })

  const gone = Buffer.from('{"session_id":"s99"}')
  test.each([
    ['the agent sends the error code of ACP', []],
    ['the agent has one message for all errors, but lists its sessions', ['says nothing of use', 'lists']],
    ['the agent cannot resume sessions', ['cannot restore']],
  ])('that no longer exists is lost: %s', async (_, habits) => {
    const agent = new Agent(...habits)
    await agent.turn('a first session, and another')
    agent.state = null
    await agent.turn('that is listed')
    agent.state = gone
    const { failure } = await agent.turn('hi')
    expect(failure?.failure.type).toBe('session_lost')
  })

  test('that exists but cannot be opened is not lost', async () => {
    const agent = new Agent('lists', 'cannot open it now')
    await agent.turn('another session, which is listed on a page before it')
    agent.state = null
    await agent.turn('one')
    const { failure } = await agent.turn('two')
    expect(failure).toMatchObject({ failure: { type: 'crashed' }, message: /the disk is on fire/ })
  })

  test('with a state of another provider is lost', async () => {
    for (const state of ['', 'null', '{}', '{"session_id":7}', '{'])
      await expect(
        acp.restore(Buffer.from(state), new Agent().settings(), {} as never),
      ).rejects.toMatchObject({ failure: { type: 'session_lost' } })
  })
})

describe('the reply', () => {
  test.each<[string, object[], string]>([
    ['is the only message', [chunk('a'), chunk('b')], 'ab'],
    ['is the last message, by its id', [chunk('first', '1'), chunk('sec', '2'), chunk('ond', '2')], 'second'],
    [
      'is the text after the last tool call',
      [chunk('I look. '), call('c', { title: 'look' }), chunk('Blue')],
      'Blue',
    ],
    [
      'is the text before the last tool call if only blanks follow it',
      [chunk('All done.'), call('c', { title: 'look' }), chunk('\n')],
      'All done.',
    ],
    ['can be empty', [], ''],
    ['keeps U+2028, U+2029 and NEL', [chunk('a\u2028b\u2029c\u0085d')], 'a\u2028b\u2029c\u0085d'],
  ])('%s', async (_, steps, reply) => {
    expect((await new Agent().turn([...steps, END])).reply).toBe(reply)
  })

  test('excludes thoughts, plans, other sessions and unknown updates', async () => {
    const { reply, text } = await new Agent().turn([
      { update: { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } } },
      { update: { sessionUpdate: 'plan', entries: [] } },
      { update: { sessionUpdate: 'dream', content: { type: 'text', text: 'sheep' } } },
      { update: { sessionUpdate: 'agent_message_chunk', content: { type: 'image', data: '' } } },
      { update: { sessionUpdate: 'agent_message_chunk' } },
      { update: null },
      {
        'update of another session': {
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: 'x' },
        },
      },
      { say: 'yes' },
      END,
    ])
    expect({ reply, text }).toEqual({ reply: 'yes', text: 'yes' })
  })

  test('of more than 10 MiB is truncated, with a note', async () => {
    const turn = await new Agent().turn([
      { 'say so many bytes': 6 * 1024 * 1024 },
      { 'say so many bytes': 6 * 1024 * 1024 },
      END,
    ])
    expect(turn.reply).toHaveLength(10 * 1024 * 1024)
    expect(eventsOf(turn, 'note')).toEqual([{ type: 'note', text: expect.stringContaining('was truncated') }])
  })
})

describe('the work of the agent', () => {
  test('is reported as tool calls, each started and finished once', async () => {
    const turn = await new Agent().turn([
      call('c1', { title: 'bash', kind: 'execute', status: 'pending', rawInput: {} }),
      change('c1', { status: 'in_progress', title: 'echo hi', rawInput: { command: 'echo hi' } }),
      change('c1', { status: 'in_progress', title: 'echo hi' }),
      change('c1', {
        status: 'completed',
        content: [{ type: 'content', content: { type: 'text', text: 'hi\n' } }],
        rawOutput: { output: 'not this' },
      }),
      change('c1', { status: 'completed', title: 'twice' }),
      call('c2', { title: 'Reading a file', kind: 'read' }),
      change('c2', { status: 'failed', rawOutput: { error: 'no such file' } }),
      call('c3', {
        title: 'x y',
        name: 'mine',
        status: 'completed',
        content: [{ type: 'diff', path: '/a' }],
      }),
      call('c4', { title: 'sleep', status: 'in_progress', rawInput: { s: 9 } }),
      change('c4', { name: 'another name' }),
      END,
    ])
    expect(turn.events.filter(({ type }) => type.startsWith('tool'))).toEqual([
      { type: 'tool_started', call_id: 'c1', tool: 'bash', input: { command: 'echo hi' } },
      { type: 'tool_finished', call_id: 'c1', tool: 'bash', output: 'hi\n', is_error: false },
      { type: 'tool_started', call_id: 'c2', tool: 'read', input: { title: 'Reading a file' } },
      {
        type: 'tool_finished',
        call_id: 'c2',
        tool: 'read',
        output: '{"error":"no such file"}',
        is_error: true,
      },
      { type: 'tool_started', call_id: 'c3', tool: 'mine', input: { title: 'x y' } },
      { type: 'tool_finished', call_id: 'c3', tool: 'mine', output: 'changed /a', is_error: false },
      { type: 'tool_started', call_id: 'c4', tool: 'sleep', input: { s: 9 } },
      {
        type: 'tool_finished',
        call_id: 'c4',
        tool: 'sleep',
        output: 'still running when the turn ended',
        is_error: true,
      },
    ])
  })

  test("with substrat's tools is not reported: substrat records it itself", async () => {
    const agent = new Agent()
    agent.tools = { name: 'substrat', command: 'true', args: [], env: {}, respond: async () => undefined }
    const done = { kind: 'other', status: 'completed' }
    const turn = await agent.turn([
      call('1', { title: 'substrat_mail', ...done }),
      call('2', { title: 'x', name: 'mcp__substrat__mail', ...done }),
      call('3', { title: 'substrata', ...done }),
      END,
    ])
    expect(eventsOf(turn, 'tool_finished').map(({ tool }) => tool)).toEqual(['substrata'])
  })

  test('is clipped for the log: beginning and end of 10 MB of output remain', async () => {
    const output = `first ${'x'.repeat(10_000_000)} last`
    const turn = await new Agent().turn([
      call('c', { title: 'cat', status: 'completed', rawInput: { text: output }, rawOutput: { output } }),
      END,
    ])
    const [finished] = eventsOf(turn, 'tool_finished')
    expect(finished?.output.length).toBeLessThan(20_000)
    expect(finished?.output).toMatch(/^first x.*characters left out.*x last$/s)
    expect(JSON.stringify(eventsOf(turn, 'tool_started')).length).toBeLessThan(20_000)
    expect(turn.reply).toBe('')
  })

  test('is counted in tokens, including cached ones, for the model of the session', async () => {
    const usage = { inputTokens: 100, outputTokens: 7, totalTokens: 127, cachedReadTokens: 20 }
    const turn = await new Agent().turn([{ stop: { stopReason: 'end_turn', usage } }])
    expect(eventsOf(turn, 'usage')).toEqual([
      {
        type: 'usage',
        model: 'small',
        usage: { input_tokens: 120, output_tokens: 7, cache_read_tokens: 20 },
      },
    ])
    const none = await new Agent().turn([
      { stop: { stopReason: 'end_turn', usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } } },
    ])
    expect(eventsOf(none, 'usage')).toEqual([])
  })

  test.each<[string, object, Usage]>([
    [
      'apart',
      {
        inputTokens: 100,
        outputTokens: 7,
        totalTokens: 140,
        cachedReadTokens: 20,
        cachedWriteTokens: 3,
        thoughtTokens: 10,
      },
      {
        input_tokens: 123,
        output_tokens: 17,
        cache_read_tokens: 20,
        cache_write_tokens: 3,
        reasoning_tokens: 10,
      },
    ],
    [
      'within input and output',
      { inputTokens: 100, outputTokens: 17, totalTokens: 117, cachedReadTokens: 20, thoughtTokens: 10 },
      { input_tokens: 100, output_tokens: 17, cache_read_tokens: 20, reasoning_tokens: 10 },
    ],
  ])('is counted if the agent counts cached input and reasoning %s', async (_, usage, counted) => {
    const turn = await new Agent().turn([{ stop: { stopReason: 'end_turn', usage } }])
    expect(eventsOf(turn, 'usage').at(-1)?.usage).toEqual(counted)
  })

  test('includes notices, which become notes', async () => {
    const notice = {
      sessionUpdate: 'notice',
      severity: 'warning',
      title: 'asked again',
      description: 'in 3 s',
    }
    const turn = await new Agent().turn([{ update: notice }, { update: { sessionUpdate: 'notice' } }, END])
    expect(eventsOf(turn, 'note')).toEqual([{ type: 'note', text: 'asked again: in 3 s' }])
  })

  test('continues after its requests for files and terminals are refused', async () => {
    const request = { method: 'fs/write_text_file', params: { path: '/x', content: '' } }
    expect((await new Agent().turn([{ request }, END])).reply).toBe('refused with -32601')
  })
})

describe('the settings', () => {
  test.each([
    ['a value', 'large', { configId: 'the-model', value: 'large' }],
    ['a name', 'The Large One', { configId: 'the-model', value: 'large' }],
  ])('select the model by %s', async (_, model, chosen) => {
    const agent = new Agent()
    await agent.turn('hi', { model })
    await agent.turn('hi', { model: 'small' })
    expect(agent.stored().chosen).toEqual([chosen])
  })

  test('select model and mode with the older methods', async () => {
    const agent = new Agent('offers as before')
    await agent.turn('hi', { model: 'large' })
    expect(agent.stored().chosen).toEqual([{ modelId: 'large' }])
    const other = new Agent()
    await other.turn('hi', { options: { mode: 'plan' } })
    expect(other.stored().chosen).toEqual([{ modeId: 'plan' }])
  })

  test('fail with a list if the agent has no such model or mode', async () => {
    const { failure } = await new Agent().turn('hi', { model: 'huge' })
    expect(failure).toMatchObject({
      failure: { type: 'misconfigured' },
      message: 'the agent has no model huge; use one of small, large',
    })
    const mode = await new Agent().turn('hi', { options: { mode: 'yolo' } })
    expect(mode.failure?.message).toBe('the agent has no mode yolo; use one of build, plan')
    const none = await new Agent('offers nothing').turn('hi', { model: 'large' })
    expect(none.failure).toMatchObject({
      failure: { type: 'misconfigured' },
      message: /does not let its client set the model/,
    })
  })

  test('have instructions, which the agent gets once, and again after a change', async () => {
    const agent = new Agent()
    for (const instructions of ['Be brief.', 'Be brief.', 'Be long.', null])
      await agent.turn('hi', { instructions })
    expect(agent.stored().prompts).toEqual([
      ['Your instructions for this conversation:\n\nBe brief.', 'hi'],
      ['hi'],
      ['Your instructions for this conversation:\n\nBe long.', 'hi'],
      ['hi'],
    ])
  })

  test('that are invalid are rejected before the agent starts', () => {
    const wrong = [
      {},
      { command: ' ' },
      { command: 'x', start_timeout: 'soon' },
      { command: 'x', start_timeout: '0s' },
    ]
    for (const options of wrong) {
      const settings = { workspace: '/', model: null, instructions: null, options }
      expect(() => acp.check?.(settings as never)).toThrow(
        expect.objectContaining({ failure: { type: 'misconfigured' } }),
      )
    }
  })
})

describe('a turn that ends abnormally', () => {
  test('with max_tokens has a reply, and a note that it is incomplete', async () => {
    const turn = await new Agent().turn([{ say: 'as far as' }, { stop: 'max_tokens' }])
    expect(turn.reply).toBe('as far as')
    expect(eventsOf(turn, 'note')).toEqual([{ type: 'note', text: expect.stringContaining('is incomplete') }])
  })

  test.each([
    ['max_turn_requests', 'crashed', /its limit of model requests/],
    ['cancelled', 'crashed', /substrat did not cancel it/],
    ['bored', 'invalid_response', /bored/],
  ])('with %s fails with type %s', async (stop, type, message) => {
    const { reply, failure } = await new Agent().turn([{ say: 'half' }, { stop }])
    expect(reply).toBeUndefined()
    expect(failure).toMatchObject({ failure: { type }, message: expect.stringMatching(message) })
  })

  test('with a refusal fails as refused, with the text of the model', async () => {
    const { reply, failure } = await new Agent().turn([{ say: 'half' }, { stop: 'refusal' }])
    expect(reply).toBeUndefined()
    expect(failure?.failure).toEqual({ type: 'refused', said: 'half' })
  })

  test.each<[string, object, object]>([
    [
      'rate limit',
      { code: -32603, message: 'Rate limit reached, try again in 7s' },
      { type: 'rate_limit', retry_after_ms: 7000 },
    ],
    [
      'overloaded model',
      { code: -32603, message: 'Internal error', data: { message: '529 overloaded' } },
      { type: 'overloaded' },
    ],
    ['lost connection', { code: 1, message: 'connect ECONNREFUSED 127.0.0.1' }, { type: 'unreachable' }],
    ['wrong key', { code: -32603, message: 'Incorrect API key provided' }, { type: 'authentication' }],
    [
      'key without permission',
      { code: -32603, message: 'Your API key does not have permission to use it' },
      { type: 'authentication' },
    ],
    [
      'named content filter',
      { code: -32603, message: 'Internal error: no', data: { errorName: 'ContentFilterError' } },
      { type: 'refused' },
    ],
    ['other errors', { code: -32603, message: 'Internal error', data: 'no such thing' }, { type: 'crashed' }],
  ])('with an error fails with its type: %s', async (_, fail, failure) => {
    const turn = await new Agent().turn([{ say: 'half' }, { fail }])
    expect(turn.failure?.failure).toEqual(failure)
    expect(turn.reply).toBeUndefined()
  })

  test('without a login says how to log in', async () => {
    const { failure } = await new Agent('wants a login').turn('hi')
    expect(failure?.failure.type).toBe('authentication')
    expect(failure?.message).toContain('log in with the agent: Web login (Run `agent login`)')
  })

  test('with an agent of another protocol version is misconfigured', async () => {
    const { failure } = await new Agent('speaks version 9').turn('hi')
    expect(failure).toMatchObject({ failure: { type: 'misconfigured' }, message: /version 9/ })
  })
})

describe('the cost of a turn', () => {
  const cost = (amount: number, currency = 'USD'): object => ({
    update: { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount, currency } },
  })
  const costOf = (turn: Turn): number | undefined => eventsOf(turn, 'usage').at(-1)?.usage.cost_usd
  const usage = { inputTokens: 5, outputTokens: 1, totalTokens: 6 }
  const end = { stop: { stopReason: 'end_turn', usage } }
  const inspected = async (agent: Agent, turn: Turn): Promise<Inspection> =>
    acp.inspect(eventsOf(turn, 'state').at(-1)?.state ?? agent.state, agent.settings())

  test("is the difference of the session's totals, also in a new process of the agent", async () => {
    const agent = new Agent()
    const one = await agent.turn([cost(0.1), cost(0.3), end])
    expect(eventsOf(one, 'usage').at(-1)).toEqual({
      type: 'usage',
      model: 'small',
      usage: { input_tokens: 5, output_tokens: 1, cost_usd: 0.3 },
    })
    expect(costOf(await agent.turn([cost(0.3), cost(0.7), end]))).toBe(0.4)
    // A turn without an update has no known cost.
    expect(costOf(await agent.turn([end]))).toBeUndefined()
    expect(costOf(await agent.turn([cost(1.2), end]))).toBe(0.5)
  })

  test('begins at 0 if the agent counts from 0 again, and in a new session', async () => {
    const agent = new Agent()
    await agent.turn([cost(2), end])
    expect(costOf(await agent.turn([cost(0.5), cost(0.75), end]))).toBe(0.75)
    agent.state = null
    expect(costOf(await agent.turn([cost(3), end]))).toBe(3)
  })

  test('in another currency is not reported', async () => {
    const turn = await new Agent().turn([cost(2, 'EUR'), cost(3, 'credits'), end])
    expect(eventsOf(turn, 'usage').at(-1)?.usage).toEqual({ input_tokens: 5, output_tokens: 1 })
    expect(costOf(await new Agent().turn([cost(-1), cost(Number.NaN), end]))).toBeUndefined()
  })

  test.each<[string, object[], boolean]>([
    ['fails', [{ fail: { code: -32603, message: 'Internal error: no' } }], false],
    ['is refused', [{ stop: 'refusal' }], false],
    ['is killed', [{ kill: 'SIGKILL' }], false],
    ['waits', [{ 'ask for': [{ toolCallId: 'c', title: 'bash', kind: 'execute' }] }], false],
    ['is stopped', [{ say: 'x' }, { hang: true }], true],
  ])('is known if the turn %s, and counts in no later turn', async (_, steps, isStopped) => {
    const agent = new Agent()
    const turn = await agent.turn([cost(0.25), ...steps], isStopped ? abortAtText() : {})
    expect(turn.reply).toBeUndefined()
    expect(eventsOf(turn, 'usage').at(-1)).toMatchObject({ model: 'small', usage: { cost_usd: 0.25 } })
    // substrat died: the state is the last that it has recorded.
    const paid = { input_tokens: 0, output_tokens: 0, cost_usd: 0.25 }
    expect(await inspected(agent, turn)).toEqual({
      outcome: 'unknown',
      usage: paid,
      models: [{ model: 'small', ...paid }],
    })
    agent.state = eventsOf(turn, 'state').at(-1)?.state ?? null
    const next = await agent.turn([{ kill: 'SIGKILL' }])
    expect(await inspected(agent, next)).toEqual({ outcome: 'unknown' })
    expect(costOf(await agent.turn([cost(0.5), end]))).toBe(0.25)
  })

  test('comes with the tokens of a refused or parked turn', async () => {
    const refused = await new Agent().turn([cost(0.5), { stop: { stopReason: 'refusal', usage } }])
    expect(eventsOf(refused, 'usage').at(-1)?.usage).toEqual({
      input_tokens: 5,
      output_tokens: 1,
      cost_usd: 0.5,
    })
  })
})
