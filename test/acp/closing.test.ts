/** The end of a session of `substrat acp`, and the parts of a session that the client wants and substrat refuses. */
import { methods } from '@agentclientprotocol/sdk'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { waitFor } from '../support/wait.js'
import { Editor } from './support.js'

const TOUCH = { name: 'shell', input: { command: 'touch touched' } }

async function close(editor: Editor, sessionId: string): Promise<void> {
  await editor.request(methods.agent.session.close, { sessionId })
}

async function statusOf(house: House, id: string): Promise<string> {
  return (await house.ok('show', id, '--json')).json.agent.status
}

describe('a client that closes a session', () => {
  test('cancels the turn of its prompt, and can load the agent again', async () => {
    const house = new House()
    const scenario = house.scenario('slow.json', { after_file: 'go', say: 'First.' }, { say: 'Second.' })
    const editor = await Editor.open(house, '--option', scenario)
    const id = await editor.create(house.workspace)
    const prompted = editor.prompt(id, 'one')
    await house.waitForRecord(id, 'model.requested')
    await close(editor, id)
    expect(await prompted).toEqual({ stopReason: 'cancelled' })
    expect(house.count(id, 'run.cancelled')).toBe(1)
    await expect(editor.prompt(id, 'two')).rejects.toMatchObject({ data: { code: 'AGENT_NOT_FOUND' } })
    await editor.load(id, house.workspace)
    expect(editor.said).toEqual(['user: one'])
    await editor.close()
  })

  test('cancels the turn of another process that it has seen running', async () => {
    const house = new House()
    const id = await house.spawn(
      'a',
      '--option',
      house.scenario('slow.json', { after_file: 'go', say: 'Hi.' }),
    )
    const shell = house.start(['send', id, 'one'])
    await house.waitForRecord(id, 'model.requested')
    const editor = await Editor.open(house)
    await editor.load(id, house.workspace)
    await close(editor, id)
    expect((await shell.result).exit).not.toBe(0)
    expect(house.count(id, 'run.cancelled')).toBe(1)
    await editor.close()
  })

  test('leaves an approval pending that it has only seen', async () => {
    const house = new House()
    const scenario = house.scenario('s.json', { say: 'Let me.', tools: [TOUCH] }, { say: 'Done.' })
    const id = await house.spawn('a', '--option', scenario)
    expect((await house.run(['send', id, 'touch'])).exit).toBe(5)
    const editor = await Editor.open(house)
    editor.answer = 'never'
    await editor.load(id, house.workspace)
    await waitFor(() => editor.asked.length === 1, 'the request for permission')
    await close(editor, id)
    expect(await statusOf(house, id)).toBe('waiting')
    expect((await house.ok('approve', id)).stdout).toBe('Done.\n')
    await editor.close()
  })
})

test('a client that loads a session again is asked once more, and its prompt ends with the decision', async () => {
  const house = new House()
  const scenario = house.scenario('s.json', { say: 'Let me.', tools: [TOUCH] }, { say: 'Done.' })
  const editor = await Editor.open(house, '--option', scenario)
  const id = await editor.create(house.workspace)
  editor.answer = 'never'
  const prompted = editor.prompt(id, 'touch')
  await waitFor(() => editor.asked.length === 1, 'the request for permission')
  editor.answer = 'once'
  await editor.load(id, house.workspace)
  expect(await prompted).toEqual({ stopReason: 'end_turn' })
  expect(editor.asked).toHaveLength(2)
  const shown = editor.said.slice(editor.said.indexOf('user: touch'))
  expect(shown).toEqual(['user: touch', 'agent: Let me.', 'agent: Done.'])
  expect(house.count(id, 'tool.finished')).toBe(1)
  await editor.close()
})

test('the MCP servers of a client are refused in words, and the session works without them', async () => {
  const house = new House()
  const editor = await Editor.open(house)
  const files = { name: 'files', command: 'true', args: [], env: [] }
  const id = await editor.create(house.workspace, [files])
  await waitFor(() => editor.said.length === 1, 'the refusal')
  expect(editor.said[0]).toMatch(/does not pass on the MCP servers of this client \(files\).*mcp_servers/)
  await editor.prompt(id, 'hello')
  expect(editor.said.at(-1)).toBe('agent: echo: hello')
  await editor.close()
})
