/** An agent dies, hangs or sends invalid output: the outcome of the turn, and the state of its session. */
import { describe, expect, test } from 'vitest'
import { GRACE_MS, holdTimers } from '../support/time.js'
import { Agent } from './acp/support.js'
import { abortAfter, abortAtText, eventsOf } from './driven-agent.js'

const END = { stop: 'end_turn' }

describe('an agent that dies', () => {
  test('at its start makes the turn fail with its stderr, without a session', async () => {
    const agent = new Agent('dies at once')
    const { events, failure } = await agent.turn('hi')
    expect(events).toEqual([])
    expect(failure?.failure.type).toBe('authentication')
    expect(failure?.message).toMatch(/exited 3 before it answered initialize: Error: please run agent login/)
    expect(agent.state).toBeNull()
  })

  test('because its program does not exist is misconfigured', async () => {
    const { failure } = await new Agent().turn('hi', { options: { command: 'no-such-agent acp' } })
    expect(failure?.failure.type).toBe('misconfigured')
    expect(failure?.message).toMatch(/no-such-agent acp\) exited 127 .*not found/)
  })

  test('between opening the session and the prompt leaves a session to resume', async () => {
    const agent = new Agent('dies with its session')
    const { events, failure } = await agent.turn('lost')
    expect(events.map(({ type }) => type)).toEqual(['state'])
    expect(failure).toMatchObject({
      failure: { type: 'crashed' },
      message: /was killed by SIGKILL before it answered session\/prompt|exited 137/,
    })
    expect((await agent.turn('again')).reply).toBe('echo: again')
  })

  test.each([
    ['killed', { kill: 'SIGKILL' }, /killed by SIGKILL|exited 137/],
    ['exiting with status 0', { exit: 0 }, /exited 0/],
  ])('in the middle of its text, %s, gives no reply', async (_, death, how) => {
    const agent = new Agent()
    const turn = await agent.turn([{ say: 'half' }, { 'wait ms': 50 }, death])
    expect(turn).toMatchObject({ reply: undefined, text: 'half', failure: { failure: { type: 'crashed' } } })
    expect(turn.failure?.message).toMatch(how)
    const next = await agent.turn('go on')
    expect(next.reply).toBe('echo: go on')
    expect(agent.stored().prompts).toHaveLength(2)
  })

  test.each<[string, object[]]>([
    ['exits with status 0', [{ exit: 0 }]],
    [
      'exits with status 0 and wrote to stderr',
      [{ 'tell stderr': 'WARN rate limit reached\n' }, { exit: 0 }],
    ],
  ])('in the middle of its turn ended early if it %s', async (_, death) => {
    const { failure } = await new Agent().turn([{ say: 'half' }, ...death])
    expect(failure?.failure).toEqual({ type: 'crashed', ended_early: true })
  })

  test('under a wrapper that exits with status 0 ended early', async () => {
    const agent = new Agent()
    const { failure } = await agent.turn([{ say: 'half' }, { kill: 'SIGKILL' }], {
      options: { command: `{ ${agent.command}; true; }` },
    })
    expect(failure?.failure).toEqual({ type: 'crashed', ended_early: true })
    expect((await agent.turn('go on')).reply).toBe('echo: go on')
  })

  test('with an error status in the middle of its turn makes the turn fail', async () => {
    const { failure } = await new Agent().turn([{ say: 'half' }, { exit: 1 }])
    expect(failure?.failure).toEqual({ type: 'crashed' })
  })

  test('before its first answer is not an agent, even if it exits with status 0', async () => {
    const { failure } = await new Agent().turn('hi', { options: { command: 'true' } })
    expect(failure?.failure).toEqual({ type: 'crashed' })
  })

  test('long after a line on stderr has crashed, and that line is not the reason', async () => {
    const { failure } = await new Agent().turn([
      { 'tell stderr': 'WARN rate limit reached, please log in\n' },
      { 'wait ms': 30 },
      { exit: 1 },
    ])
    expect(failure).toMatchObject({ failure: { type: 'crashed' }, message: /rate limit reached/ })
  })

  test('after its stop reason has replied', async () => {
    const { reply, failure } = await new Agent().turn([
      { say: 'all of it' },
      END,
      { 'wait ms': 30 },
      { kill: 'SIGKILL' },
    ])
    expect({ reply, failure }).toEqual({ reply: 'all of it', failure: undefined })
  })

  test('in the middle of a line gives no reply, and the half line does no harm', async () => {
    const half = '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_'
    const turn = await new Agent().turn([
      { say: 'all' },
      { raw: half },
      { 'wait ms': 30 },
      { kill: 'SIGKILL' },
    ])
    expect(turn).toMatchObject({ reply: undefined, failure: { failure: { type: 'crashed' } } })
  })

  test('leaves no grandchild running, even if it holds stdout open', async () => {
    const steps = [{ say: 'half' }, { 'leave a grandchild': 1 }, { 'wait ms': 50 }]
    const died = await new Agent().turn([...steps, { exit: 0 }])
    expect(died.failure?.message).toMatch(/exited 0 before it answered/)
    const answered = await new Agent().turn([...steps, END])
    expect(answered.reply).toBe('half')
  })
})

describe('an agent that hangs', () => {
  test('before it answers initialize times out, and the failure quotes its stderr', async () => {
    const { failure } = await new Agent('never answers').turn('hi', {
      options: { start_timeout: '300ms' },
    })
    expect(failure?.failure.type).toBe('timeout')
    expect(failure?.message).toMatch(/did not answer initialize within 300 ms; .*start_timeout/)
  })

  test('before it answers initialize can be stopped', async () => {
    const { failure } = await new Agent('never answers', 'clings to life').turn('hi', {
      signal: abortAfter(300),
    })
    expect(failure?.message).toBe('stopped by the test')
  })

  test('in the middle of its turn obeys the cancel and gives no reply', async () => {
    holdTimers(GRACE_MS)
    const agent = new Agent()
    const turn = await agent.turn([{ say: 'half' }, { hang: 1 }], abortAtText())
    expect(turn).toMatchObject({ reply: undefined, failure: { message: 'stopped by the test' } })
    expect(agent.stored().isCancelled).toBe(true)
    expect((await agent.turn('go on')).reply).toBe('echo: go on')
  })

  test('gives no reply if it treats the cancel as the normal end of its turn', async () => {
    const agent = new Agent('ends a cancelled turn well')
    const turn = await agent.turn([{ say: 'half' }, { hang: 1 }], abortAtText())
    expect(turn).toMatchObject({ reply: undefined, failure: { message: 'stopped by the test' } })
  })

  test('and ignores the cancel and SIGTERM is killed', async () => {
    const agent = new Agent('is deaf to a cancel', 'clings to life')
    const turn = await agent.turn([{ say: 'half' }, { hang: 1 }], abortAtText())
    expect(turn.failure?.message).toBe('stopped by the test')
  })

  test('after its answer is killed, and its reply counts', async () => {
    const { reply } = await new Agent('clings to life').turn('hi')
    expect(reply).toBe('echo: hi')
  })
})

describe('an agent that sends invalid output', () => {
  test('is understood where its output is valid', async () => {
    const turn = await new Agent().turn([
      { raw: 'DEBUG starting up\n\n  \n[1,2]\nnull\n"text"\n{"a":\n\u0000\n' },
      {
        raw: '{"jsonrpc":"2.0"}\n{"id":null,"error":{"code":-32700}}\n{"id":77,"result":{"stopReason":"end_turn"}}\n',
      },
      { raw: '{"jsonrpc":"2.0","method":"session/update"}\n{"method":7,"id":{}}\n' },
      { say: 'sense' },
      { 'tell stderr': 'x'.repeat(300_000) },
      END,
    ])
    expect(turn).toMatchObject({ reply: 'sense', failure: undefined })
  })

  test('in one line of 10 MB is read completely', async () => {
    const turn = await new Agent().turn([{ 'say so many bytes': 10_000_000 }, END])
    expect(turn.reply).toHaveLength(10_000_000)
    expect(eventsOf(turn, 'note')).toEqual([])
  })

  test('in a line above the limit has that line ignored', async () => {
    const turn = await new Agent().turn([{ 'say so many bytes': 70 * 1024 * 1024 }, { say: 'sense' }, END])
    expect(turn.reply).toBe('sense')
  })

  test('with CRLF line ends is understood', async () => {
    const update = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'dos' } }
    const line = JSON.stringify({ method: 'session/update', params: { sessionId: 's1', update } })
    expect((await new Agent().turn([{ raw: `${line}\r\n` }, END])).reply).toBe('dos')
  })
})
