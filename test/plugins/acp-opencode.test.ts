/**
 * Replays recorded ACP sessions of OpenCode 1.18.33, byte by byte. The provider must send the same messages and
 * understand the answers.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WaitAsk } from '../../src/provider/contract.js'
import { Agent } from './acp/support.js'
import { abortAtText, eventsOf, type Turn, type TurnOptions } from './driven-agent.js'

const FOLDER = join(import.meta.dirname, 'acp')
const SESSION = Buffer.from('{"session_id":"ses_e064a97bcffeUk3RQcPxoy02UD"}')
const ASK: WaitAsk = { call_id: 'call_6', tool: 'bash', input: { command: 'echo one' } }

/** A message that the recording does not have fails the turn. A missing message fails the test. */
async function replay(
  name: string,
  prompt: string,
  state: Uint8Array | null,
  options: TurnOptions = {},
): Promise<Turn> {
  const agent = new Agent()
  agent.state = state
  const played = join(agent.store, 'played')
  const words = [process.execPath, `${FOLDER}/replay.mjs`, `${FOLDER}/opencode/${name}.jsonl`, played]
  const command = words.map((word) => `'${word}'`).join(' ')
  const turn = await agent.turn(prompt, { ...options, options: { command } })
  expect(existsSync(played), `${name} was played to its end`).toBe(true)
  return turn
}

test('a first turn with an allowed tool is read', async () => {
  const { events } = await replay('tool', 'run: echo hi', null, { allow: ['shell'], workspace: '/tmp' })
  const sessionId = 'ses_e064a97bcffeUk3RQcPxoy02UD'
  const [state, ...rest] = events.filter(({ type }) => type !== 'text')
  expect(state?.type === 'state' && Buffer.from(state.state).toString()).toContain(sessionId)
  const input = { command: 'echo hi', description: 'runs it', cwd: '/tmp/h/acp/ws' }
  expect(rest).toEqual([
    { type: 'tool_started', call_id: 'call_2', tool: 'bash', input },
    { type: 'tool_finished', call_id: 'call_2', tool: 'bash', output: 'hi\n', is_error: false },
    { type: 'usage', model: 'loop/m', usage: { input_tokens: 120, output_tokens: 7, cache_read_tokens: 20 } },
    { type: 'done', reply: 'result: "hi\\n"' },
  ])
})

test('a resumed turn that requests permission is cancelled and waits', async () => {
  const turn = await replay('wait', 'run: echo one', SESSION)
  expect(turn.events.at(-1)).toEqual({ type: 'wait', kind: 'approval', asks: [ASK] })
  expect(eventsOf(turn, 'tool_finished')).toMatchObject([
    { call_id: 'call_6', output: 'Tool execution aborted', is_error: true },
  ])
})

test('an approved request is granted when another call repeats it', async () => {
  const answer = { decision: 'approve' as const, text: '', asks: [ASK] }
  const turn = await replay('approve', '', SESSION, { answer })
  expect(turn.reply).toBe('result: "one\\n"')
  expect(eventsOf(turn, 'tool_finished')).toMatchObject([{ call_id: 'call_9', output: 'one\n' }])
})

test('a turn can be cancelled in the middle of its text', async () => {
  const turn = await replay('cancel', 'be slow', SESSION, abortAtText())
  expect(turn).toMatchObject({ reply: undefined, failure: { message: 'stopped by the test' } })
})

test('an error of the model fails the turn with its type', async () => {
  const { failure, reply } = await replay('error', 'bad400', SESSION)
  expect(reply).toBeUndefined()
  expect(failure).toMatchObject({ failure: { type: 'crashed' }, message: /Internal error: no such thing$/ })
})

test('a lost session is recognised by the list of sessions, not by its error message', async () => {
  const gone = 'ses_e065a870fffe1TngqyzRz50XXX'
  const { failure } = await replay('lost', 'hi', Buffer.from(JSON.stringify({ session_id: gone })))
  expect(failure?.failure.type).toBe('session_lost')
  expect(failure?.message).toContain(gone)
})
