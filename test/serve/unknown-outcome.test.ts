/**
 * A turn with a tool call of unknown outcome is left to a person in every face: HTTP, the endpoint for OpenAI clients, an editor, MCP,
 * and mail. Nothing but a decision continues it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Editor } from '../acp/support.js'
import { Outsider } from '../operator/support.js'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { clientOf, rejection, user } from './openai-client.js'
import { Served } from './support.js'

const house = new House()
let id = ''
let served: Served

beforeAll(async () => {
  const call = { name: 'shell', input: { command: ': > started; sleep 3600' } }
  const scenario = house.scenario('s.json', { tools: [call] }, { say: 'finished' })
  id = await house.spawn('a', '--option', scenario, '--allow', 'all')
  const sender = house.start(['send', 'a', 'go', '--key', 'k'])
  await waitFor(() => house.read('started') !== undefined, 'the tool')
  await sender.kill()
  served = await Served.start(house)
})
afterAll(() => served.stop())

const path = { agent: 'a' }
const DECIDE = /substrat resume a; or give it up: substrat cancel a/
const WAIT = { prefer: 'wait' }

test('over HTTP, a message is queued or refused, and its repetition says how to decide', async () => {
  const refused = await served.call('sendMessage', {
    path,
    body: { content: 'x', if_busy: 'fail' },
    headers: WAIT,
  })
  expect(refused).toMatchObject({ status: 409, problem: { code: 'OUTCOME_UNKNOWN', who: 'operator' } })
  expect(refused.problem.next).toMatch(DECIDE)
  const body = { content: 'go' }
  const again = await served.call('sendMessage', { path, body, headers: { ...WAIT, 'Idempotency-Key': 'k' } })
  expect(again).toMatchObject({ status: 409, problem: { code: 'INTERRUPTED' } })
  expect(again.problem.next).toMatch(DECIDE)
  const queued = await served.call('sendMessage', { path, body: { content: 'later' } })
  expect(queued).toMatchObject({ status: 202, data: { run_id: null } })
})

test('an OpenAI client gets an error that its SDK does not retry', async () => {
  const { chat } = clientOf(served)
  const error = await rejection(chat.completions.create({ model: 'a', messages: user('hi') }))
  expect(error).toMatchObject({ status: 409, code: 'OUTCOME_UNKNOWN' })
  expect((error as Error).message).toMatch(DECIDE)
})

test('an editor gets an error: its message is stored, and a person decides', async () => {
  const editor = await Editor.open(house)
  await editor.load(id, house.workspace)
  await expect(editor.prompt(id, 'hello')).rejects.toMatchObject({
    message: expect.stringMatching(/the message is stored: .*outcome is unknown/),
  })
  await editor.close()
})

test('a program over MCP sees the message queued and the agent interrupted', async () => {
  const outsider = await Outsider.open(house)
  await outsider.call('send', { agent: 'a', message: 'hello', key: 'm' })
  expect((await outsider.call('status', { agents: ['a'] })).agents).toMatchObject([
    { status: 'interrupted_startup' },
  ])
  await outsider.close()
})

test('after all of them nothing has run, and the decision of a person runs the stored messages', async () => {
  expect([house.count(id, 'model.requested'), house.count(id, 'run.started')]).toEqual([1, 1])
  const resumed = await served.call('resumeAgent', { path, body: {}, headers: WAIT })
  expect(resumed).toMatchObject({ status: 200, data: { reply: 'finished' } })
  await waitFor(() => house.count(id, 'mail.delivered') === 3, 'the stored messages')
})
