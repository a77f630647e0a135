/** Turns of provider-claude-code, against replayed output of the real claude. */
import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/provider/contract.js'
import { GRACE_MS, holdTimers } from '../support/time.js'
import {
  claude,
  decoded,
  failureIn,
  firstTurn,
  forgetSessions,
  newHost,
  newSession,
  notes,
  RESETS_AT,
  replyIn,
  settings,
  started,
  stateIn,
  textIn,
  turn,
  typesOf,
} from './claude-code/support.js'

describe('a turn', () => {
  test('reports its session before claude starts, then text and usage, then the reply', async () => {
    const first = await firstTurn('hello')
    expect(typesOf(first).filter((type, i, all) => type !== all[i - 1])).toEqual([
      'state',
      'text',
      'usage',
      'done',
    ])
    expect(replyIn(first)).toBe('echo: hello []')
    expect(textIn(first)).toBe('echo: hello []')
    const usage = {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      cost_usd: 0.000175,
    }
    const models = [{ model: 'claude-opus-4-8[1m]', ...usage }]
    expect(first.events).toContainEqual({ type: 'usage', usage, models })
    expect(decoded(stateIn(first))).toMatchObject({
      session_id: started().argv[started().argv.indexOf('--session-id') + 1],
    })
  })

  test('opens a new session the first time and resumes it later, also in another process', async () => {
    const session = await newSession()
    replyIn(await turn(session, 'hello'))
    const id = String(decoded(await session.suspend()).session_id)
    expect(started().argv).toEqual(expect.arrayContaining(['--session-id', id]))
    const restored = await claude.restore((await session.suspend()) as Uint8Array, settings(), newHost())
    replyIn(await turn(restored, 'again'))
    expect(started().argv).toEqual(expect.arrayContaining(['--resume', id]))
    expect(started().argv).not.toContain('--session-id')
  })

  test('lets claude exit by itself after its result', async () => {
    holdTimers(GRACE_MS)
    replyIn(await firstTurn('end with stdin'))
    expect(notes('ended')).toEqual(['by itself'])
  })

  test('that died before claude wrote anything starts again with the same id', async () => {
    const session = await newSession()
    const died = await turn(session, 'keeps nothing\ndie before the id')
    forgetSessions()
    const restored = await claude.restore(stateIn(died), settings(), newHost())
    replyIn(await turn(restored, 'hello'))
    expect(started().argv).toEqual(
      expect.arrayContaining(['--session-id', decoded(stateIn(died)).session_id]),
    )
  })

  test('with a lost session fails, and claude does not start', async () => {
    const session = await newSession()
    replyIn(await turn(session, 'hello'))
    forgetSessions()
    const failed = await turn(session, 'again')
    expect(failureIn(failed)).toMatchObject({ type: 'session_lost' })
    expect(typesOf(failed)).toEqual([])
  })

  test('that died after the model answered has a session that can be lost, also after a crash', async () => {
    const died = await firstTurn('keeps nothing\ndie in mid-text')
    expect(died.events.flatMap((event) => (event.type === 'state' ? [decoded(event.state)] : []))).toEqual([
      expect.objectContaining({ is_begun: false }),
      expect.objectContaining({ is_begun: true }),
    ])
    const restored = await claude.restore(stateIn(died), settings(), newHost())
    expect(failureIn(await turn(restored, 'hello'))).toMatchObject({ type: 'session_lost' })
  })

  test('that the API rejected has no session to lose, and starts again', async () => {
    const refused = await firstTurn('keeps nothing\nplay not-logged-in')
    expect(failureIn(refused)).toMatchObject({ type: 'authentication' })
    const restored = await claude.restore(stateIn(refused), settings(), newHost())
    replyIn(await turn(restored, 'hello'))
  })

  test('with a session that is lost while claude starts fails too', async () => {
    const failed = await firstTurn('play vanished')
    expect(failureIn(failed)).toMatchObject({
      type: 'session_lost',
      message: expect.stringContaining('No conversation found'),
    })
  })

  test('passes model, instructions, mode and arguments to claude', async () => {
    const options = { permission_mode: 'acceptEdits', args: "--add-dir '../a b' --effort high" }
    const given = settings(options, { model: 'opus', instructions: 'be brief' })
    replyIn(await turn(await newSession(given), 'hello'))
    const { argv } = started()
    const wordAfter = (flag: string): string | undefined => argv[argv.indexOf(flag) + 1]
    expect(wordAfter('--model')).toBe('opus')
    expect(started().instructions).toBe('be brief')
    expect(wordAfter('--permission-mode')).toBe('acceptEdits')
    expect(argv.slice(-4)).toEqual(['--add-dir', '../a b', '--effort', 'high'])
    expect(argv).not.toContain('--strict-mcp-config')
    expect(notes('initialize')).toEqual([])
  })

  test('passes instructions of any length in a file, because every user can read arguments', async () => {
    const instructions = 'be brief. '.repeat(20_000)
    replyIn(await turn(await newSession(settings({}, { instructions })), 'hello'))
    expect(started().instructions).toBe(instructions)
    expect(started().argv.join(' ')).not.toContain('be brief')
  })

  test("claude's messages to substrat's tools are control requests, answered in this process", async () => {
    const messages: object[] = []
    const server = {
      name: 'substrat',
      command: '/bin/substrat',
      args: ['mcp'],
      env: { TOKEN: 'secret' },
      async respond(message: object): Promise<object | undefined> {
        messages.push(message)
        const { id } = message as { id?: number }
        return id === undefined ? undefined : { jsonrpc: '2.0', id, result: { of: id } }
      },
    }
    replyIn(await turn(await newSession(settings(), newHost(server)), 'call substrat'))
    const { argv } = started()
    expect(notes('initialize')).toEqual([{ subtype: 'initialize', sdkMcpServers: ['substrat'] }])
    expect(argv).toEqual(expect.arrayContaining(['--strict-mcp-config', '--allowedTools', 'mcp__substrat']))
    expect(argv.join(' ')).not.toContain('secret')
    expect(messages).toMatchObject([
      { id: 0, method: 'initialize' },
      { method: 'notifications/initialized' },
      { id: 1, method: 'tools/call', params: { name: 'list_children' } },
    ])
    const result = (of: number): object => ({ mcp_response: { jsonrpc: '2.0', id: of, result: { of } } })
    expect(notes('responses')).toEqual([
      { subtype: 'success', request_id: 'm0', response: result(0) },
      {
        subtype: 'success',
        request_id: 'm1',
        response: { mcp_response: { jsonrpc: '2.0', id: 0, result: {} } },
      },
      { subtype: 'success', request_id: 'm2', response: result(1) },
    ])
  })

  test('removes its files after claude has read them, so that a crash leaves none', async () => {
    const controller = new AbortController()
    const onEvent = ({ type }: AgentEvent): void => {
      if (type === 'text') controller.abort()
    }
    holdTimers(GRACE_MS)
    const session = await newSession(settings({}, { instructions: 'be brief' }))
    await turn(session, 'be slow', { signal: controller.signal, onEvent })
    expect(notes('files')).toEqual([false])
    expect(existsSync(started().instructions_file as string)).toBe(false)
  })

  test("reports a subagent's tools, but not its text, and no substrat tools", async () => {
    const server = {
      name: 'substrat',
      command: '/bin/substrat',
      args: ['mcp'],
      env: {},
      respond: async () => undefined,
    }
    const done = await turn(await newSession(settings(), newHost(server)), 'use substrat')
    expect(replyIn(done)).toBe('echo: hello []')
    expect(textIn(done)).toBe('echo: hello []')
    expect(done.events.filter(({ type }) => type.startsWith('tool_'))).toEqual([
      { type: 'tool_started', call_id: 'its', tool: 'Read', input: {} },
      { type: 'tool_finished', call_id: 'its', tool: 'Read', output: 'done', is_error: false },
    ])
    expect(done.events).toContainEqual(
      expect.objectContaining({
        type: 'usage',
        usage: expect.objectContaining({ input_tokens: 17, output_tokens: 5 }),
      }),
    )
  })

  test.each([
    ['have no tools', 'failed'],
    ['ignore the tools', 'missing'],
  ])("notes that claude cannot use substrat's tools: %s", async (prompt, status) => {
    const server = {
      name: 'substrat',
      command: '/bin/substrat',
      args: ['mcp'],
      env: {},
      respond: async () => undefined,
    }
    const { events } = await turn(await newSession(settings(), newHost(server)), prompt)
    const text = `claude cannot use substrat's tools: the status of their server is ${status}`
    expect(events.filter(({ type }) => type === 'note')).toEqual([{ type: 'note', text }])
  })
})

describe('a turn that fails', () => {
  test.each([
    ['rate-limit', 'rate_limit', 'Request rejected (429)'],
    ['too-long', 'overflow', 'Prompt is too long'],
    ['no-credit', 'misconfigured', 'Credit balance is too low'],
    ['not-logged-in', 'authentication', 'Not logged in'],
    ['max-turns', 'invalid', 'maximum number of turns'],
  ])('by %s, reported as a success with an error, has type %s', async (recording, type, words) => {
    const failed = await firstTurn(`play ${recording}`)
    expect(failureIn(failed)).toMatchObject({ type, message: expect.stringContaining(words) })
    expect(typesOf(failed)).not.toContain('done')
  })

  test('by a limit of the subscription has the time of the reset', async () => {
    const begun = Date.now()
    const { type, retry_after_ms = 0 } = failureIn(await firstTurn('play session-limit'))
    expect(type).toBe('rate_limit')
    // Measured from some moment of the turn.
    const at = RESETS_AT * 1000 - retry_after_ms
    expect({ at, isWithin: begun - 1000 <= at && at <= Date.now() + 1000 }).toMatchObject({ isWithin: true })
  })

  test('by a limit other than the one that was near has no time', async () => {
    const failed = failureIn(await firstTurn('be warned, then refused'))
    expect(failed.type).toBe('rate_limit')
    expect(failed.retry_after_ms).toBeUndefined()
  })

  test('by an invalid key ends after the second rejection, not the tenth', async () => {
    const failed = await firstTurn('play authentication')
    expect(failureIn(failed)).toMatchObject({ type: 'authentication' })
    expect(failed.events.filter(({ type }) => type === 'note')).toHaveLength(1)
  })

  test.each(['refuse', 'refuse as an error'])('by a refusal (%s) has the text of the model', async (how) => {
    const failed = await firstTurn(how)
    expect(failureIn(failed)).toMatchObject({ type: 'refused', said: 'echo: hello []' })
    expect(typesOf(failed)).not.toContain('done')
  })

  test('by an API error, after which claude exits without a result, has the type of the error', async () => {
    expect(failureIn(await firstTurn('exit after an error of the API')).type).toBe('authentication')
  })

  test('by an end that is neither an error nor a completion has no reply', async () => {
    const failed = failureIn(await firstTurn('stop early'))
    expect(failed).toMatchObject({ type: 'crashed', message: expect.stringContaining('aborted_streaming') })
  })

  test('notes each retry of claude', async () => {
    const { events } = await firstTurn('play overloaded')
    expect(events.filter(({ type }) => type === 'note')).toEqual([
      { type: 'note', text: 'claude retries the API request in 1 s (1 of 10): overloaded' },
      { type: 'note', text: 'claude retries the API request in 2 s (2 of 10): overloaded' },
    ])
  })

  test('because claude is not installed says how to install it', async () => {
    const failed = await turn(await newSession(settings({ command: '/nowhere/claude' })), 'hello')
    expect(failureIn(failed)).toMatchObject({
      type: 'misconfigured',
      message: expect.stringContaining('npm install -g @anthropic-ai/claude-code'),
    })
  })
})

describe('settings', () => {
  test.each([
    [{ permission_mode: 'yolo' }, 'permission_mode'],
    [{ args: '--resume x' }, '--resume'],
    [{ args: '--session-id=x' }, '--session-id'],
    [{ args: "'open" }, 'quote'],
    [{ command: ' ' }, 'command'],
  ])('%j are rejected', (options, words) => {
    expect(() => claude.check?.(settings(options))).toThrow(words)
  })

  test('a state of another provider is a lost session', async () => {
    const restored = claude.restore(Buffer.from('{"other":1}'), settings(), newHost())
    await expect(restored).rejects.toMatchObject({ failure: { type: 'session_lost' } })
  })
})
