/** Turns of provider-opencode, against a stand-in for OpenCode. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Inspection, Usage, WaitAnswer, WaitAsk } from '../../src/provider/contract.js'
import { abortAfter, abortAtText, eventsOf, type Turn } from './driven-agent.js'
import { OpenCode, opencode } from './opencode/support.js'

const stateOf = (turn: Turn): string[] =>
  eventsOf(turn, 'state').map(({ state }) => Buffer.from(state).toString())

/** The agent as it is if substrat dies at the latest state of the turn. */
async function inspection(agent: OpenCode, turn: Turn): Promise<Inspection> {
  return opencode.inspect(eventsOf(turn, 'state').at(-1)?.state ?? null, agent.settings())
}

/** How the turn ended, without its usage. */
async function inspected(agent: OpenCode, turn: Turn): Promise<object> {
  const { usage: _, models: __, ...outcome } = await inspection(agent, turn)
  return outcome
}

/** The reports of the stand-in for `count` messages of a model. */
const usageOf = (count: number): Usage => ({
  input_tokens: 123 * count,
  output_tokens: 8 * count,
  cache_read_tokens: 20 * count,
  cache_write_tokens: 3 * count,
  reasoning_tokens: count,
  cost_usd: 0.25 * count,
})
const used = (count: number): object => ({
  usage: usageOf(count),
  models: [{ model: 'lab/small', ...usageOf(count) }],
})

describe('a session', () => {
  test('is known before the prompt, and so is the id of the prompt', async () => {
    const agent = new OpenCode()
    const turn = await agent.turn('hi')
    expect(turn.reply).toBe('echo: hi')
    expect(turn.text).toBe('echo: hi')
    const { id, asks } = agent.stored()
    const [{ messageID }] = asks
    // OpenCode sorts by this part: its milliseconds, and the counter 0 below OpenCode's own.
    expect(messageID).toMatch(/^msg_[0-9a-f]{9}000[0-9A-Za-z]{14}$/)
    expect(stateOf(turn)).toEqual([JSON.stringify({ session_id: id, message_id: messageID })])
    // The turn died before OpenCode received it.
    const lost = await new OpenCode('loses prompts').turn('hi')
    expect(stateOf(lost)).toEqual([expect.stringContaining('"message_id":"msg_')])
  })

  test('is the same in every later turn, and the previous prompt is replaced before anything starts', async () => {
    const agent = new OpenCode()
    const one = await agent.turn('one')
    expect(Buffer.from(agent.state as Uint8Array).toString()).toContain('"message_id":null')
    // The agent as it is if substrat dies before it releases the turn.
    agent.state = eventsOf(one, 'state').at(-1)?.state ?? null
    const two = await agent.turn('two', { options: { command: 'no-such-program' } })
    expect(two.failure?.failure.type).toBe('misconfigured')
    expect(two.events).toEqual([{ type: 'state', state: expect.anything() }])
    expect(await inspected(agent, two)).toEqual({ outcome: 'unfinished' })
    expect((await agent.turn('three')).reply).toBe('echo: three')
    expect(agent.stored().asks).toHaveLength(2)
  })

  test('that no longer exists is lost, and so is an invalid state', async () => {
    const agent = new OpenCode()
    agent.state = Buffer.from('{"session_id":"ses_gone"}')
    expect((await agent.turn('hi')).failure?.failure.type).toBe('session_lost')
    for (const state of ['{}', '{"session_id":"; rm -rf /"}'])
      await expect(opencode.restore(Buffer.from(state), agent.settings(), {} as never)).rejects.toMatchObject(
        { failure: { type: 'session_lost' } },
      )
  })

  test("has substrat's tools, and the model, agent, instructions and permissions of the settings", async () => {
    const agent = new OpenCode()
    agent.tools = {
      name: 'substrat',
      command: '/bin/substrat',
      args: ['mcp'],
      env: { SUBSTRAT_RUN: 'r' },
      respond: async () => undefined,
    }
    await agent.turn('hi', {
      model: 'local/qwen/3',
      instructions: 'Be brief.',
      options: { agent: 'plan', permission: 'ask' },
    })
    expect(agent.server()).toEqual({
      name: 'substrat',
      config: { type: 'local', command: ['/bin/substrat', 'mcp'], environment: { SUBSTRAT_RUN: 'r' } },
    })
    expect(agent.stored().asks[0]).toEqual({
      messageID: expect.anything(),
      parts: [{ type: 'text', text: 'hi' }],
      model: { providerID: 'local', modelID: 'qwen/3' },
      agent: 'plan',
      system: 'Be brief.',
    })
    expect(agent.stored().created.permission).toContainEqual({
      permission: 'bash',
      pattern: '*',
      action: 'ask',
    })
    const plain = new OpenCode()
    await plain.turn('hi')
    expect(plain.stored()).toMatchObject({
      created: {},
      asks: [{ parts: [{ type: 'text', text: 'hi' }] }],
    })
  })
})

describe('a turn', () => {
  const tool = (callID: string, state: object, name = 'bash'): object => ({
    tool: { callID, tool: name, state },
  })

  test('reports its text, its tools except those of substrat, and its usage', async () => {
    const agent = new OpenCode()
    agent.tools = { name: 'substrat', command: 'true', args: [], env: {}, respond: async () => undefined }
    const turn = await agent.turn([
      { begin: 'I look. ' },
      tool('c1', { status: 'pending', input: {} }),
      tool('c1', { status: 'running', input: { command: 'ls' } }),
      tool('c1', { status: 'running', input: { command: 'ls' } }),
      tool('c1', { status: 'completed', input: { command: 'ls' }, output: 'a\u2028b' }),
      tool('c1', { status: 'completed', input: { command: 'ls' }, output: 'again' }),
      tool('c2', { status: 'error', input: {}, error: 'no such file' }),
      tool('c3', { status: 'completed', input: {}, output: '' }, 'substrat_mail'),
      { 'of another session': { type: 'message.part.delta', properties: { field: 'text', delta: 'x' } } },
      { say: 'Done\u2028so.' },
    ])
    expect(turn.text).toBe('I look. Done\u2028so.')
    expect(eventsOf(turn, 'usage').at(-1)).toEqual({ type: 'usage', ...used(2) })
    expect(turn.events.filter(({ type }) => !['text', 'state', 'usage'].includes(type))).toEqual([
      { type: 'tool_started', call_id: 'c1', tool: 'bash', input: { command: 'ls' } },
      { type: 'tool_finished', call_id: 'c1', tool: 'bash', output: 'a\u2028b', is_error: false },
      { type: 'tool_started', call_id: 'c2', tool: 'bash', input: {} },
      { type: 'tool_finished', call_id: 'c2', tool: 'bash', output: 'no such file', is_error: true },
      { type: 'done', reply: 'Done\u2028so.' },
    ])
  })

  test('reports its usage by model, with that of summaries, but not that of earlier turns', async () => {
    const agent = new OpenCode()
    await agent.turn('earlier')
    const turn = await agent.turn([
      { summary: 'so far' },
      { 'say as': { text: 'I look.', providerID: 'lab', modelID: 'large' } },
      { say: 'Done.' },
    ])
    const reported = {
      usage: usageOf(3),
      models: [
        { model: 'lab/small', ...usageOf(2) },
        { model: 'lab/large', ...usageOf(1) },
      ],
    }
    expect(eventsOf(turn, 'usage').at(-1)).toEqual({ type: 'usage', ...reported })
    expect(await inspection(agent, turn)).toEqual({ outcome: 'finished', reply: 'Done.', ...reported })
  })

  test('without tokens and costs has no usage', async () => {
    const tokens = { input: 0, output: 0 }
    const turn = await new OpenCode().turn([{ 'say as': { text: 'x', tokens, cost: 0 } }, { end: 'stop' }])
    expect(eventsOf(turn, 'usage')).toHaveLength(2)
    expect(eventsOf(turn, 'usage').at(-1)).toMatchObject({ usage: { ...usageOf(1) } })
  })

  test.each<[string, object]>([
    ['fails', { error: { name: 'UnknownError', data: { message: 'no' } } }],
    ['is killed', { kill: 'SIGKILL' }],
    ['waits for the user', { 'ask for': [{ permission: 'bash', patterns: ['rm'], metadata: {} }] }],
    ['is stopped', { hang: true }],
  ])('that %s has reported its usage, and so has its store', async (how, end) => {
    const agent = new OpenCode()
    const told = join(agent.store, 'told')
    const { signal, onEvent } = abortAtText()
    // The end comes after the provider has the usage, which a killed process may not have sent.
    const turn = await agent.turn([{ begin: 'I look.' }, { 'wait for': told }, end], {
      ...(how === 'is stopped' && signal !== undefined && { signal }),
      onEvent: (event) => {
        if (event.type === 'usage') writeFileSync(told, '')
        onEvent?.(event)
      },
    })
    expect(turn.reply).toBeUndefined()
    expect(eventsOf(turn, 'usage').at(-1)).toEqual({ type: 'usage', ...used(1) })
    expect(await inspection(agent, turn)).toEqual({ outcome: 'unfinished', ...used(1) })
  })

  test('with a tool call of 10 MB is clipped for the log', async () => {
    const output = 'x'.repeat(10_000_000)
    const turn = await new OpenCode().turn([
      { begin: '' },
      tool('c', { status: 'completed', input: { output }, output }),
      { say: 'ok' },
    ])
    expect(turn.reply).toBe('ok')
    expect(JSON.stringify(turn.events).length).toBeLessThan(60_000)
  })

  test('that reached the token limit has a reply, and a note', async () => {
    const turn = await new OpenCode().turn([{ end: 'length' }])
    expect(turn.reply).toBe('an end')
    expect(eventsOf(turn, 'note')).toHaveLength(1)
  })

  const apiError = (data: object): object => ({
    error: { name: 'APIError', data: { isRetryable: false, ...data } },
  })
  test.each<[string, object, object]>([
    ['a wrong key', apiError({ message: 'no', statusCode: 401 }), { type: 'authentication' }],
    [
      'a rate limit',
      apiError({ message: 'no', statusCode: 429, responseHeaders: { 'retry-after': '7' } }),
      { type: 'rate_limit', retry_after_ms: 7000 },
    ],
    [
      'a missing login',
      { error: { name: 'ProviderAuthError', data: { message: 'no' } } },
      { type: 'authentication' },
    ],
    [
      'a conversation that is too long',
      { error: { name: 'ContextOverflowError', data: { message: 'no' } } },
      { type: 'overflow' },
    ],
    ['an abort by others', { error: { name: 'MessageAbortedError', data: {} } }, { type: 'crashed' }],
    ['the content filter', { end: 'content-filter' }, { type: 'refused', said: 'an end' }],
    [
      'the content filter of the API',
      { error: { name: 'ContentFilterError', data: { message: 'no' } } },
      { type: 'refused', said: '' },
    ],
    ['no answer', { 'wait ms': 1 }, { type: 'crashed' }],
    ['an answer without a finish reason', { end: null }, { type: 'crashed' }],
    ['an answer that was to continue', { end: 'tool-calls' }, { type: 'crashed' }],
    ['an answer that broke off', { end: 'unknown' }, { type: 'crashed' }],
    [
      'no such agent',
      { 'session error': { name: 'UnknownError', data: { message: 'Agent not found: "x"' } } },
      { type: 'misconfigured' },
    ],
  ])('fails for %s', async (_, step, failure) => {
    const turn = await new OpenCode().turn([step])
    expect(turn).toMatchObject({ reply: undefined, failure: { failure } })
  })

  const api = (statusCode: number): object => ({ name: 'APIError', data: { message: 'no', statusCode } })
  test.each<[string, object, string]>([
    ['401', api(401), 'authentication'],
    ['403', api(403), 'authentication'],
    ['429', api(429), 'rate_limit'],
    ['503', api(503), 'overloaded'],
    ['no such model', { name: 'UnknownError', data: { message: 'Model not found: a/b' } }, 'misconfigured'],
    ['a conversation too long', { name: 'ContextOverflowError', data: { message: 'no' } }, 'overflow'],
    ['a filter', { name: 'ContentFilterError', data: { message: 'no' } }, 'refused'],
  ])('fails for %s, regardless of the order of the events', async (_, error, type) => {
    const told = { 'session error': error }
    const unnamed = { emit: { type: 'session.error', properties: { sessionID: undefined, error } } }
    const begun = { begin: '' }
    for (const steps of [
      [told],
      [begun, told],
      [begun, unnamed],
      [told, begun],
      [{ error }, told],
      [begun, told, { error }],
    ]) {
      const { reply, failure } = await new OpenCode().turn(steps)
      expect({ steps, reply, type: failure?.failure.type }).toEqual({ steps, reply: undefined, type })
    }
  })

  test('with an answer has a reply, despite earlier errors and errors of other sessions', async () => {
    const error = api(401)
    const other = { 'of another session': { type: 'session.error', properties: { error } } }
    expect((await new OpenCode().turn([other, { say: 'Done.' }])).reply).toBe('Done.')
    const early = { 'session error': { name: 'MessageAbortedError', data: {} } }
    expect((await new OpenCode().turn([{ begin: '' }, early, { say: 'Done.' }])).reply).toBe('Done.')
    expect(
      (await new OpenCode().turn([{ begin: '' }, { 'session error': error }, { say: 'Done.' }])).reply,
    ).toBe('Done.')
  })

  test('continues after a retry that is due soon, with a note', async () => {
    const turn = await new OpenCode().turn([
      { status: { type: 'retry', attempt: 1, message: 'Rate limit reached', in: 2000 } },
      { say: 'there' },
    ])
    expect(turn.reply).toBe('there')
    expect(eventsOf(turn, 'note')).toEqual([
      { type: 'note', text: 'opencode retries the model request in 2 s: Rate limit reached' },
    ])
  })

  test.each([
    ['too late', { type: 'retry', attempt: 1, message: 'Rate limit reached', in: 3_600_000 }],
    ['too often', { type: 'retry', attempt: 5, message: 'Rate limit reached', in: 3_600_000 }],
  ])('ends if the retry of its model is due %s', async (_, status) => {
    const begun = Date.now()
    const { failure } = await new OpenCode().turn([{ status }, { hang: 1 }])
    expect(failure?.failure.type).toBe('rate_limit')
    expect(failure?.failure.retry_after_ms).toBeGreaterThanOrEqual(3_600_000 - (Date.now() - begun))
  })

  test('continues after a question, which substrat answers', async () => {
    const { reply } = await new OpenCode().turn([{ 'ask a question': [{ question: 'which?' }] }])
    expect(reply).toMatch(/^No user is present/)
  })

  const TOO_LONG = [{ type: 'compaction', auto: true }]
  const GO_ON = [{ type: 'text', text: 'Continue.', synthetic: true }]
  test.each<[string, object[]]>([
    ['and told to continue', [{ user: TOO_LONG }, { summary: 'a summary' }, { user: GO_ON }]],
    ['before an answer', [{ user: TOO_LONG }, { summary: 'a summary' }]],
  ])('with a conversation summarised %s has the later answer', async (_, steps) => {
    const agent = new OpenCode()
    const turn = await agent.turn([{ begin: 'I look. ' }, ...steps, { say: 'Done.' }])
    expect(turn).toMatchObject({ text: 'I look. Done.', reply: 'Done.' })
    expect(await inspected(agent, turn)).toEqual({ outcome: 'finished', reply: 'Done.' })
  })

  test('that became too long after its answer includes that answer in the reply', async () => {
    const agent = new OpenCode()
    const failed = { error: { name: 'ContextOverflowError', data: { message: 'no' } }, summary: true }
    expect((await agent.turn([{ say: 'Blue.' }, { user: TOO_LONG }, { message: failed }])).reply).toBe(
      'Blue.',
    )
    expect((await agent.turn([{ 'call and say': 'I look. ' }, { say: 'Blue.' }])).reply).toBe('Blue.')
    const after = [{ user: TOO_LONG }, { summary: 'a summary' }, { user: GO_ON }, { say: 'Nothing is left.' }]
    expect((await agent.turn([{ say: 'Blue.' }, ...after])).reply).toBe('Blue.\n\nNothing is left.')
    const { failure } = await agent.turn([{ begin: '' }, { user: TOO_LONG }, { message: failed }])
    expect(failure?.failure.type).toBe('overflow')
  })

  const OWN = { tool: 'substrat_send_message', callID: 'own', state: { status: 'error' } }
  const BASH = { tool: 'bash', callID: 'sh', state: { status: 'error' } }
  test.each<[string, object, { finished?: string[]; answered?: number }, string]>([
    ['called a substrat tool without an answer is not', OWN, {}, 'unfinished'],
    ['called a substrat tool that answered is', OWN, { answered: 1 }, 'finished'],
    ['had a failed tool that substrat has not recorded is not', BASH, {}, 'unfinished'],
    ['had a failed tool that substrat has recorded is', BASH, { finished: ['sh'] }, 'finished'],
  ])('that %s finished if its substrat died', async (_, part, known, outcome) => {
    const agent = new OpenCode()
    const turn = await agent.turn([{ begin: 'I look. ' }, { 'stored tool': part }, { say: 'Done.' }])
    const state = eventsOf(turn, 'state').at(-1)?.state ?? null
    const heard = { finished: [], answered: 0, server: 'substrat', ...known }
    const { signal } = new AbortController()
    expect(await opencode.inspect(state, agent.settings(), { signal, heard })).toMatchObject({ outcome })
  })

  test('does not get the answer to a prompt that the user sent in the same session', async () => {
    const agent = new OpenCode()
    const turn = await agent.turn([
      { begin: 'I look. ' },
      { user: [{ type: 'text', text: 'And this?' }] },
      { say: 'That.' },
    ])
    expect(turn).toMatchObject({
      text: 'I look. ',
      reply: undefined,
      failure: { failure: { type: 'crashed' } },
    })
    expect(await inspected(agent, turn)).toEqual({ outcome: 'unfinished' })
  })
})

describe('a permission request', () => {
  const BASH = {
    permission: 'bash',
    patterns: ['rm x'],
    metadata: { command: 'rm x' },
    tool: { callID: 'c1' },
  }
  const EDIT = { permission: 'edit', patterns: ['/f'], metadata: { diff: '+' }, tool: { callID: 'c2' } }
  const OWN = { permission: 'substrat_mail', patterns: ['*'], metadata: {} }
  const asksOf = (turn: Turn): WaitAsk[] => {
    const [wait] = eventsOf(turn, 'wait')
    expect(turn.events.at(-1)).toBe(wait)
    return wait?.asks ?? []
  }
  const decided = (decision: WaitAnswer['decision'], asks: WaitAsk[]): { answer: WaitAnswer } => ({
    answer: { decision, asks, text: '' },
  })

  test('that is allowed, or is for a substrat tool, is granted at once', async () => {
    const agent = new OpenCode()
    agent.tools = { name: 'substrat', command: 'true', args: [], env: {}, respond: async () => undefined }
    const { reply } = await agent.turn([{ 'ask for': [BASH, EDIT, OWN] }], { allow: ['shell', 'edit'] })
    expect(reply).toBe('[once][once][once]')
  })

  test('that is not allowed ends the turn in a wait without processes, even if OpenCode ignores the abort', async () => {
    for (const habits of [[], ['is deaf to an abort']]) {
      const agent = new OpenCode(...habits)
      const turn = await agent.turn([{ 'ask for': [BASH, OWN] }, { hang: 1 }], {
        onEvent: ({ type }) => expect(agent.isRunning(), type).toBe(type !== 'wait'),
      })
      expect(asksOf(turn)).toEqual([
        { call_id: 'c1', tool: 'bash', input: { command: 'rm x', patterns: ['rm x'] } },
        { call_id: expect.stringMatching(/^per_/), tool: 'substrat_mail', input: { patterns: ['*'] } },
      ])
    }
  })

  test('that was approved is granted once, to the same request, and a denied one is rejected', async () => {
    const agent = new OpenCode()
    const asks = asksOf(await agent.turn([{ 'ask for': [BASH] }]))
    expect((await agent.turn('', decided('approve', asks))).reply).toBe('[once]')
    expect((await agent.turn('', decided('deny', asks))).reply).toBe('[reject]')
    const other = [{ ...asks[0], input: { command: 'rm y', patterns: ['rm y'] } } as WaitAsk]
    expect(asksOf(await agent.turn('', decided('approve', other)))).toEqual(asks)
  })
})

describe('an OpenCode that dies or hangs', () => {
  test('before it listens makes the turn fail with its stderr', async () => {
    const { failure } = await new OpenCode('dies at once').turn('hi')
    expect(failure).toMatchObject({ failure: { type: 'crashed' }, message: /exited 1 .*the disk is full/ })
  })

  test('before it listens can be stopped', async () => {
    const { failure } = await new OpenCode('never listens').turn('hi', { signal: abortAfter(300) })
    expect(failure?.message).toBe('stopped by the test')
  })

  test('after it opened the session, or received the prompt, still has the session', async () => {
    for (const habit of ['dies with its session', 'loses prompts']) {
      const agent = new OpenCode(habit)
      const turn = await agent.turn('hi')
      expect(turn.failure?.failure.type).toMatch(/unreachable|crashed/)
      if (habit === 'loses prompts') expect(agent.stored().messages).toEqual([])
    }
  })

  test('in the middle of its text gives no reply, and continues in the next turn', async () => {
    const agent = new OpenCode()
    const heard = join(agent.store, 'heard')
    const turn = await agent.turn([{ begin: 'half' }, { 'wait for': heard }, { kill: 'SIGKILL' }], {
      onEvent: ({ type }) => {
        if (type === 'text') writeFileSync(heard, '')
      },
    })
    expect(turn).toMatchObject({ reply: undefined, text: 'half', failure: { failure: { type: 'crashed' } } })
    expect((await agent.turn('go on')).reply).toBe('echo: go on')
  })

  test('under a wrapper that exits with status 0 ended early', async () => {
    const agent = new OpenCode()
    const turn = await agent.turn([{ begin: 'half' }, { kill: 'SIGKILL' }], {
      options: { command: `wrapped() { ${agent.command} "$@"; true; }; wrapped` },
    })
    expect(turn.failure?.failure).toEqual({ type: 'crashed', ended_early: true })
    expect(turn.failure?.message).toContain('exited 0 before the end of the turn')
  })

  test('obeys an abort, or is killed', async () => {
    for (const habits of [[], ['is deaf to an abort']]) {
      const turn = await new OpenCode(...habits).turn([{ begin: 'half' }, { hang: 1 }], abortAtText())
      expect(turn).toMatchObject({ reply: undefined, failure: { message: 'stopped by the test' } })
    }
  })
})

describe('the store of OpenCode after a crash', () => {
  test('has the reply of a finished turn', async () => {
    const agent = new OpenCode()
    const one = await agent.turn('hi')
    expect(await inspected(agent, one)).toEqual({ outcome: 'finished', reply: 'echo: hi' })
    const two = await agent.turn([{ begin: 'I look. ' }, { say: 'Blue.' }])
    expect(await inspected(agent, two)).toEqual({ outcome: 'finished', reply: 'Blue.' })
    // Inspection names the session, so others do not matter.
    expect(await inspected(agent, one)).toEqual({ outcome: 'finished', reply: 'echo: hi' })
  })

  test.each<[string, object[]]>([
    ['before its answer', [{ 'wait ms': 50 }, { kill: 'SIGKILL' }]],
    ['between its tools', [{ begin: 'I look. ' }, { 'wait ms': 50 }, { kill: 'SIGKILL' }]],
    [
      'between its tools, with the finish reason stop',
      [{ 'call and say': 'I look. ' }, { 'wait ms': 50 }, { kill: 'SIGKILL' }],
    ],
    ['with an error', [{ error: { name: 'UnknownError', data: { message: 'no' } } }]],
  ])('reports a turn that ended %s as unfinished', async (_, steps) => {
    const agent = new OpenCode()
    expect(await inspected(agent, await agent.turn(steps))).toEqual({ outcome: 'unfinished' })
  })

  test('is read by a command that receives no secrets of substrat', async () => {
    vi.stubEnv('SUBSTRAT_TOKEN', 'st_secret')
    vi.stubEnv('OPENCODE_X', 'its own')
    onTestFinished(() => void vi.unstubAllEnvs())
    const agent = new OpenCode()
    expect(await inspected(agent, await agent.turn('hi'))).toMatchObject({ outcome: 'finished' })
    const environment = readFileSync(join(agent.store, 'environment'), 'utf8')
    expect(environment).toContain('its own')
    expect(environment).not.toContain('st_secret')
  })

  test('gives the outcome unknown without a turn, without a state, and if it cannot be read', async () => {
    const agent = new OpenCode()
    const [during] = eventsOf(await agent.turn('hi'), 'state')
    const gone = agent.settings({ options: { command: 'no-such-program' } })
    for (const [state, settings] of [
      [agent.state, agent.settings()],
      [null, agent.settings()],
      [during?.state ?? null, gone],
    ] as const)
      expect(await opencode.inspect(state, settings)).toEqual({ outcome: 'unknown' })
  })
})
