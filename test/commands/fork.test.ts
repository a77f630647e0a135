/** `fork`: a conversation continues in another agent, with the same provider or another. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { NativeHouse } from '../support/native.js'

const SAID = '<conversation>\n\nUser: remember 17\n\nYou: noted\n\n</conversation>'

async function conversed(...flags: string[]): Promise<{ house: NativeHouse; id: string }> {
  const house = new NativeHouse()
  house.turns([{ type: 'done', reply: 'noted' }])
  const id = await house.spawn('notes', '--provider', 'native', ...flags)
  await house.ok('send', 'notes', 'remember 17')
  return { house, id }
}

describe.concurrent('fork', () => {
  test('gives the conversation to the same program in a new session, and does not change the first agent', async () => {
    const { house, id } = await conversed('--system', 'be brief', '--allow', 'shell')
    const log = house.log(id)
    const { json, stdout } = await house.ok('fork', 'notes', '--name', 'other', '--json')
    expect(json.agent, stdout).toMatchObject({
      name: 'other',
      provider: 'native',
      parent: null,
      state: 'created',
    })
    expect(house.log(id)).toBe(log)
    await house.ok('send', 'other', 'which number?')
    await house.ok('send', 'other', 'sure?')
    await house.ok('send', 'notes', 'and you?')
    const [first, second, third, fourth] = house.told() as { session: string; prompt: string }[]
    expect(second?.session).not.toBe(first?.session)
    expect(second?.prompt).toContain(SAID)
    expect(second?.prompt).toMatch(/\n\nwhich number\?$/)
    expect(third).toEqual({ session: second?.session, prompt: 'sure?' })
    expect(fourth).toEqual({ session: first?.session, prompt: 'and you?' })
    const shown = (await house.ok('show', 'other', '--json')).json
    expect(shown.instructions).toBe('be brief')
    expect(house.records(json.agent.id)[0]).toMatchObject({ kind: 'session.created', allow: ['shell'] })
    expect(house.findings(true)).toEqual([])
  })

  test('copies a conversation from a program to a model, and back', async () => {
    const { house } = await conversed()
    const model = (await house.ok('fork', 'notes', '--provider', 'scripted', '--name', 'model')).stdout.trim()
    expect((await house.ok('send', 'model', 'which number?')).stdout).toBe('echo: which number?\n')
    expect(house.kinds(model).slice(0, 2)).toEqual(['session.created', 'session.seeded'])
    expect(house.records(model)[1]).not.toHaveProperty('conversation')
    await house.ok('fork', 'model', '--provider', 'native', '--name', 'back')
    await house.ok('send', 'back', 'go on')
    expect(house.told()[1]).toMatchObject({
      prompt: expect.stringMatching(/User: remember 17.*User: which number\?\n\nYou: echo: which number\?/s),
    })
  })

  test('copies the reasoning, the calls and their results to the same model, which continues there', async () => {
    const house = new NativeHouse()
    const items = [{ reasoning: 'because '.repeat(20_000) }]
    const responses = [
      { tools: [{ name: 'read_file', input: { path: 'missing.txt' } }], items },
      { say: 'it is missing' },
      { say: 'still missing' },
    ]
    writeFileSync(`${house.workspace}/scenario.json`, JSON.stringify({ responses }))
    await house.spawn('a', '--provider', 'scripted', '--option', `scenario=${house.workspace}/scenario.json`)
    await house.ok('send', 'a', 'look')
    const id = (await house.ok('fork', 'a', '--name', 'b')).stdout.trim()
    const { conversation } = house.records(id)[1] as { conversation: { blob: string } }
    const copied = readFileSync(house.agentFile(id, `blobs/${conversation.blob}`), 'utf8')
    expect(JSON.parse(copied)).toMatchObject([
      { role: 'user', content: 'look' },
      { role: 'assistant', tool_calls: [{ name: 'read_file' }], items },
      { role: 'tool', name: 'read_file', is_error: true },
      { role: 'assistant', content: 'it is missing' },
    ])
    // The third entry answers the third request of a conversation.
    expect((await house.ok('send', 'b', 'and now?')).stdout).toBe('still missing\n')
    expect(house.findings(true)).toEqual([])
  })

  test('copies the conversation also from a fork without turns', async () => {
    const { house } = await conversed()
    await house.ok('fork', 'notes', '--name', 'two')
    await house.ok('fork', 'two', '--name', 'three')
    await house.ok('send', 'three', 'which number?')
    expect(house.told()[1]).toMatchObject({ prompt: expect.stringContaining('User: remember 17') })
  })

  test('is refused without a conversation, with a taken name, and with an unknown option', async () => {
    const { house } = await conversed()
    await house.spawn('empty', '--provider', 'native')
    const refused = async (...args: string[]): Promise<[number, string]> => {
      const { exit, json } = await house.run(['fork', ...args, '--json'])
      return [exit, json.error.code]
    }
    expect(await refused('empty')).toEqual([13, 'SESSION_STATE'])
    expect(await refused('notes', '--name', 'empty')).toEqual([13, 'NAME_TAKEN'])
    expect((await refused('notes', '--option', 'speed=9'))[0]).not.toBe(0)
    expect(await refused('notes', '--provider', 'nowhere')).toEqual([3, 'PROVIDER_NOT_FOUND'])
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(2)
  })

  test("inside an agent's tool, copies only agents below it", async () => {
    const { house, id } = await conversed()
    const lead = await house.spawn('lead', '--provider', 'native')
    const env = { SUBSTRAT_AGENT: lead }
    const refused = await house.run(['fork', id, '--json'], { env })
    expect([refused.exit, refused.json.error.code]).toEqual([13, 'TREE_RULES'])
    await house.spawn('child', '--provider', 'native', '--parent', 'lead')
    await house.ok('send', 'lead/child', 'hi')
    const forked = await house.run(['fork', 'child', '--name', 'twin', '--json'], { env })
    expect(forked.json.agent, forked.stderr).toMatchObject({ path: 'lead/twin', parent: lead })
  })
})
