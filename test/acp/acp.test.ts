/** `substrat acp`, driven by a client of the official SDK. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { Editor } from './support.js'

const TOUCH = { name: 'shell', input: { command: 'touch touched' } }

/** The prompts of an agent in its log, and its replies. */
function conversation(house: House, id: string): string[] {
  return house
    .records(id)
    .flatMap((record) =>
      record.kind === 'message.user' || record.kind === 'mail.delivered' || record.kind === 'message.agent'
        ? [`${record.kind === 'message.agent' ? 'agent' : 'user'}: ${record.content}`]
        : [],
    )
}

describe('a session', () => {
  test('is a new agent with the directory of the client as its workspace', async () => {
    const house = new House()
    const editor = await Editor.open(house, '--system', 'Be brief.')
    const id = await editor.create(house.workspace)
    expect((await house.ok('show', id, '--json')).json).toMatchObject({
      agent: { id, workspace: house.workspace, provider: 'scripted' },
      instructions: 'Be brief.',
    })
    await editor.close()
  })

  test('is in the list of its directory, also if the shell created it', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    const here = await editor.create(house.workspace)
    const shell = await house.spawn('notes')
    const there = await editor.create(house.root)
    const list = async (cwd?: string): Promise<string[]> =>
      (await editor.request(methods.agent.session.list, cwd === undefined ? {} : { cwd })).sessions.map(
        ({ sessionId }) => sessionId,
      )
    expect((await list(house.workspace)).sort()).toEqual([here, shell].sort())
    expect((await list()).sort()).toEqual([here, shell, there].sort())
    await editor.close()
  })

  test('that does not exist is refused', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    await expect(editor.load(randomUUID(), house.workspace)).rejects.toMatchObject({ code: -32002 })
    await editor.close()
  })

  test('is refused for an agent of the same home, which would get the rights of a person', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const { exit, stderr } = await house.start(['acp'], { env: { SUBSTRAT_AGENT: id } }).result
    expect([exit, stderr]).toEqual([13, expect.stringContaining('may not act for the operator')])
  })
})

describe('a prompt', () => {
  test('has the text of the turn while it comes, and ends with it', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    const id = await editor.create(house.workspace)
    expect(await editor.prompt(id, 'hello')).toEqual({ stopReason: 'end_turn' })
    expect(editor.said).toEqual(['agent: echo: hello'])
    expect(conversation(house, id)).toEqual(['user: hello', 'agent: echo: hello'])
    await editor.close()
  })

  test('with the same message id is delivered once, and has the same reply', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    const id = await editor.create(house.workspace)
    await editor.prompt(id, 'hello', 'm1')
    expect(await editor.prompt(id, 'hello', 'm1')).toEqual({ stopReason: 'end_turn' })
    await expect(editor.prompt(id, 'other', 'm1')).rejects.toMatchObject({
      data: { code: 'KEY_CONFLICT' },
    })
    expect(editor.said).toEqual(['agent: echo: hello', 'agent: echo: hello'])
    expect(conversation(house, id)).toEqual(['user: hello', 'agent: echo: hello'])
    await editor.close()
  })

  test('without a message id is a new message each time', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    const id = await editor.create(house.workspace)
    await editor.prompt(id, 'yes')
    await editor.prompt(id, 'yes')
    expect(house.count(id, 'message.user')).toBe(2)
    await editor.close()
  })

  test('waits for the turn of another process, and is then run', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'First.' }, { say: 'Second.' })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    const shell = house.start(['send', id, 'one'])
    await house.waitForRecord(id, 'model.requested')
    const prompted = editor.prompt(id, 'two')
    await waitFor(async () => (await house.ok('inbox', id, '--json')).json.messages.length === 1, 'the mail')
    house.write('go', '')
    expect(await prompted).toEqual({ stopReason: 'end_turn' })
    await shell.result
    expect(editor.said).toEqual(['user: one', 'agent: First.', 'agent: Second.'])
    await editor.close()
  })

  test('with a failed turn is an error that names the reason', async () => {
    const house = new House()
    const scenario = house.scenario('fail.json', { fail: { type: 'invalid' } })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    await expect(editor.prompt(id, 'hello')).rejects.toMatchObject({
      code: -32603,
      data: { code: 'invalid' },
    })
    await editor.close()
  })

  test('that the client cancels has its turn cancelled', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'First.' })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    const prompted = editor.prompt(id, 'one')
    await house.waitForRecord(id, 'model.requested')
    await editor.cancel(id)
    expect(await prompted).toEqual({ stopReason: 'cancelled' })
    expect(house.count(id, 'run.cancelled')).toBe(1)
    await editor.close()
  })

  test('after a question of the agent is the answer, once', async () => {
    const house = new House()
    const ask = { name: 'ask_operator', input: { question: 'Which colour?' } }
    const scenario = house.scenario('ask.json', { tools: [ask] }, { say: 'Painted.' })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    expect(await editor.prompt(id, 'paint')).toEqual({ stopReason: 'end_turn' })
    expect(editor.said).toEqual(['agent: Which colour?'])
    expect(await editor.prompt(id, 'blue', 'm2')).toEqual({ stopReason: 'end_turn' })
    expect(await editor.prompt(id, 'blue', 'm2')).toEqual({ stopReason: 'end_turn' })
    expect(house.count(id, 'token.consumed')).toBe(1)
    expect(house.count(id, 'message.user')).toBe(1)
    expect(editor.said.slice(1)).toEqual(['agent: Painted.', 'agent: Painted.'])
    await editor.close()
  })
})

describe('a tool call', () => {
  test.for([
    ['once', true],
    ['always', true],
    ['denied', false],
  ] as const)('is asked for, and %s is the decision', async ([answer, isRun]) => {
    const house = new House()
    const scenario = house.scenario('touch.json', { say: 'Let me.', tools: [TOUCH] }, { say: 'Done.' })
    const editor = await Editor.open(house, '--option', scenario)
    editor.answer = answer
    const id = await editor.create(house.workspace)
    expect(await editor.prompt(id, 'touch')).toEqual({ stopReason: 'end_turn' })
    expect(editor.asked).toMatchObject([
      { sessionId: id, toolCall: { title: 'touch touched', kind: 'execute', rawInput: TOUCH.input } },
    ])
    expect(existsSync(path.join(house.workspace, 'touched'))).toBe(isRun)
    expect(editor.said).toEqual(['agent: Let me.', 'agent: Done.'])
    expect(editor.calls).toEqual([
      isRun ? 'touch touched, pending, in_progress, completed' : 'touch touched, pending, failed',
    ])
    const changed = house.records(id).findLast(({ kind }) => kind === 'session.configured')
    const allow = changed?.kind === 'session.configured' ? (changed.allow ?? []) : []
    expect(allow).toEqual(answer === 'always' ? ['shell(touch touched)'] : [])
    await editor.close()
  })

  test('that cannot be allowed for ever is allowed once', async () => {
    const house = new House()
    const redirect = { name: 'shell', input: { command: 'echo x > touched' } }
    const scenario = house.scenario('touch.json', { tools: [redirect] }, { say: 'Done.' })
    const editor = await Editor.open(house, '--option', scenario)
    editor.answer = 'always'
    const id = await editor.create(house.workspace)
    expect(await editor.prompt(id, 'touch')).toEqual({ stopReason: 'end_turn' })
    expect(editor.said).toEqual(['agent: Done.'])
    await editor.close()
  })

  test('that the client leaves open stays pending, and the next prompt asks again before it is sent', async () => {
    const house = new House()
    const scenario = house.scenario('touch.json', { tools: [TOUCH] }, { say: 'Done.' }, { say: 'Two.' })
    const editor = await Editor.open(house, '--option', scenario)
    editor.answer = 'none'
    const id = await editor.create(house.workspace)
    expect(await editor.prompt(id, 'touch')).toEqual({ stopReason: 'cancelled' })
    await expect(editor.prompt(id, 'two')).rejects.toMatchObject({ data: { code: 'WAITING' } })
    expect(house.count(id, 'message.user')).toBe(1)
    editor.answer = 'once'
    expect(await editor.prompt(id, 'two')).toEqual({ stopReason: 'end_turn' })
    const decided = house.records(id).filter(({ kind }) => kind === 'token.consumed')
    expect(decided.at(-1)).toMatchObject({
      actor: { uid: process.getuid?.(), face: 'acp', claims: { client: 'Test editor 1' } },
    })
    expect(editor.said).toEqual(['agent: Done.', 'agent: Two.'])
    await editor.close()
  })

  test('is no longer asked for once the shell has decided', async () => {
    const house = new House()
    const scenario = house.scenario('touch.json', { tools: [TOUCH] }, { say: 'Done.' })
    const editor = await Editor.open(house, '--option', scenario)
    editor.answer = 'never'
    const id = await editor.create(house.workspace)
    const prompted = editor.prompt(id, 'touch')
    await waitFor(() => editor.asked.length === 1, 'the request')
    await house.ok('approve', id)
    expect(await prompted).toEqual({ stopReason: 'end_turn' })
    expect(editor.said).toEqual(['agent: Done.'])
    await editor.close()
  })

  test('asked for before a kill is asked for again on load, and answered after it', async () => {
    const house = new House()
    const scenario = house.scenario('touch.json', { say: 'Let me.', tools: [TOUCH] }, { say: 'Done.' })
    const first = await Editor.open(house, '--option', scenario)
    first.answer = 'never'
    const id = await first.create(house.workspace)
    void first.prompt(id, 'touch').catch(() => undefined)
    await waitFor(() => first.asked.length === 1, 'the request')
    await first.kill()

    const second = await Editor.open(house)
    await second.load(id, house.workspace)
    await waitFor(() => second.said.includes('agent: Done.'), 'the end of the turn')
    expect(second.said).toEqual(['user: touch', 'agent: Let me.', 'agent: Done.'])
    expect(second.asked).toHaveLength(1)
    expect(house.count(id, 'tool.started')).toBe(1)
    await second.close()
  })
})

describe('after a kill', () => {
  test('a turn goes on without its client, and the loaded session shows the whole conversation once', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { say: 'One.' }, { after_file: 'go', say: 'Two.' })
    const first = await Editor.open(house, '--option', scenario)
    const id = await first.create(house.workspace)
    await first.prompt(id, 'one')
    void first.prompt(id, 'two', 'm2').catch(() => undefined)
    await house.waitForRecord(id, 'model.requested', 2)
    await first.kill()

    const second = await Editor.open(house)
    await second.load(id, house.workspace)
    expect(second.said).toEqual(['user: one', 'agent: One.', 'user: two'])
    const prompted = second.prompt(id, 'two', 'm2')
    // The turn may not end before the prompt is there, because a prompt that comes after the reply gets it again.
    await waitFor(() => second.runs('send'), 'the command of the prompt')
    house.write('go', '')
    expect(await prompted).toEqual({ stopReason: 'end_turn' })
    expect(second.said).toEqual(['user: one', 'agent: One.', 'user: two', 'agent: Two.'])
    expect(conversation(house, id)).toEqual(['user: one', 'agent: One.', 'user: two', 'agent: Two.'])
    await second.close()
  })

  test('a prompt whose turn ended without its client has the reply', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'One.' })
    const first = await Editor.open(house, '--option', scenario)
    const id = await first.create(house.workspace)
    void first.prompt(id, 'one', 'm1').catch(() => undefined)
    await house.waitForRecord(id, 'model.requested')
    await first.kill()
    house.write('go', '')
    await house.waitForRecord(id, 'run.completed')

    const second = await Editor.open(house)
    await second.load(id, house.workspace)
    expect(second.said).toEqual(['user: one', 'agent: One.'])
    expect(await second.prompt(id, 'one', 'm1')).toEqual({ stopReason: 'end_turn' })
    expect(second.said).toEqual(['user: one', 'agent: One.', 'agent: One.'])
    expect(conversation(house, id)).toEqual(['user: one', 'agent: One.'])
    await second.close()
  })

  test('a prompt continues its turn', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'One.' })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    const prompted = editor.prompt(id, 'one')
    await house.waitForRecord(id, 'model.requested')
    const { holder } = (await house.ok('show', id, '--json')).json
    process.kill(holder.pid, 'SIGKILL')
    house.write('go', '')
    expect(await prompted).toEqual({ stopReason: 'end_turn' })
    expect(conversation(house, id)).toEqual(['user: one', 'agent: One.'])
    await editor.close()
  })
})
