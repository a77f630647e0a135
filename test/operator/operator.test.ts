/** `substrat mcp --operator`, driven by the client of MCP's SDK. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Outsider } from './support.js'

const TOUCH = { name: 'shell', input: { command: 'touch touched' } }

describe('the tools', () => {
  test('read and write, and decide only with --allow-decisions', async () => {
    const house = new House()
    const plain = await Outsider.open(house)
    expect(await plain.tools()).toEqual([
      ...['status', 'wait', 'inbox', 'log', 'spawn', 'send', 'compact'],
      ...['schedules', 'schedule', 'change_schedule'],
    ])
    await plain.close()
    const deciding = await Outsider.open(house, '--allow-decisions')
    expect((await deciding.tools()).slice(10)).toEqual(['approve', 'deny', 'answer'])
    await deciding.close()
  })

  test('are refused to an agent of the same home, which would get the rights of a person', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const { exit, stderr } = await house.start(['mcp', '--operator'], { env: { SUBSTRAT_AGENT: id } }).result
    expect([exit, stderr]).toEqual([13, expect.stringContaining('may not act for the operator')])
  })

  test('spawn creates an agent once for its name, in the directory of the server', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    const first = await outsider.call('spawn', {
      name: 'notes',
      instructions: 'Be brief.',
      context: 'last:2',
    })
    expect(first).toMatchObject({ agent: 'notes', status: 'idle', turn: null, reply: null })
    expect((await outsider.call('spawn', { name: 'notes' })).id).toBe(first.id)
    expect((await house.ok('show', 'notes', '--json')).json).toMatchObject({
      agent: { workspace: house.workspace },
      instructions: 'Be brief.',
      context: 'last:2',
    })
    expect((await outsider.call('status')).agents).toMatchObject([{ agent: 'notes', status: 'idle' }])
    await outsider.close()
  })

  test('schedule sets a schedule once, and change_schedule removes it', async () => {
    const house = new House()
    await house.spawn('notes')
    const outsider = await Outsider.open(house)
    const given = { agent: 'notes', name: 'daily', when: '0 7 * * *', message: 'Report.', missed: 'skip' }
    const { schedule } = await outsider.call('schedule', given)
    expect(schedule).toMatchObject({ name: 'daily', content: 'Report.', missed: 'skip', state: 'active' })
    expect(await outsider.call('schedule', given)).toMatchObject({ changed: false })
    expect((await outsider.call('schedules', { agent: 'notes' })).schedules).toMatchObject([
      { schedule_id: schedule.schedule_id, path: 'notes' },
    ])
    await outsider.call('change_schedule', { agent: 'notes', name: 'daily', change: 'remove' })
    expect((await outsider.call('schedules')).schedules).toEqual([])
    await outsider.close()
  })

  test('spawn does not let a client allow tools or choose the program of a provider: only a person may', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    for (const more of [{ allow: ['all'] }, { provider: 'exec', options: { command: 'touch touched' } }]) {
      const [field] = Object.keys(more).slice(-1)
      await expect(outsider.call('spawn', { name: 'notes', ...more })).rejects.toThrow(`"${field}"`)
    }
    expect((await outsider.call('status')).agents).toEqual([])
    await outsider.close()
  })

  test('take texts that begin like flags of the command as they are', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    const { id } = await outsider.call('spawn', { name: 'notes', instructions: '--help', model: '-m1' })
    expect((await house.ok('show', 'notes', '--json')).json).toMatchObject({
      agent: { model: '-m1' },
      instructions: '--help',
    })
    for (const key of ['-kq0x', '--json', '--']) {
      await outsider.call('send', { agent: 'notes', message: '--key', key })
      await outsider.call('wait', { agents: ['notes'] })
      expect(house.records(id)).toContainEqual(expect.objectContaining({ kind: 'run.started', key }))
    }
    await outsider.close()
  })

  test('send delivers a key once, wait has the reply, and log has the turn', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    const { id } = await outsider.call('spawn', { name: 'notes' })
    const message = { agent: 'notes', message: 'hello', key: 'k1' }
    expect(await outsider.call('send', message)).toMatchObject({ accepted: true, key: 'k1' })
    const waited = await outsider.call('wait', { agents: ['notes'] })
    expect(waited).toMatchObject({ done: true, agents: [{ turn: 'completed', reply: 'echo: hello' }] })
    expect(await outsider.call('send', message)).toMatchObject({
      outcome: 'completed',
      reply: 'echo: hello',
    })
    await expect(outsider.call('send', { ...message, message: 'other' })).rejects.toThrow('KEY_CONFLICT')
    expect(house.count(id, 'message.user')).toBe(1)
    const { records } = await outsider.call('log', { agent: 'notes' })
    expect(records.map(({ kind }: { kind: string }) => kind)).toContain('message.agent')
    await outsider.close()
  })

  test('send stores a message for an agent that waits for a person, and says that it waits', async () => {
    const house = new House()
    const scenario = house.scenario('touch.json', { tools: [TOUCH] }, { say: 'Done.' })
    await house.spawn('notes', '--option', scenario)
    const outsider = await Outsider.open(house)
    await outsider.call('send', { agent: 'notes', message: 'touch', key: 'k1' })
    const { done, agents } = await outsider.call('wait', { agents: ['notes'] })
    expect([done, agents[0].waits_for]).toMatchObject([true, { kind: 'approval', asks: [{ tool: 'shell' }] }])
    expect(await outsider.call('send', { agent: 'notes', message: 'two', key: 'k2' })).toMatchObject({
      outcome: 'stored',
    })
    expect((await outsider.call('inbox', { agent: 'notes' })).messages).toMatchObject([{ content: 'two' }])
    await outsider.close()
  })

  test('compact leaves out the beginning of a conversation once, and names why it cannot', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    const { id } = await outsider.call('spawn', { name: 'notes' })
    await expect(outsider.call('compact', { agent: 'notes' })).rejects.toThrow('it has had no turn yet')
    for (const message of ['one', 'two']) await house.ok('send', 'notes', message)
    const compact = (): Promise<unknown> => outsider.call('compact', { agent: 'notes', keep: 1 })
    expect(await compact()).toMatchObject({ done: true, compacted: true, messages: 3 })
    expect(await compact()).toMatchObject({ done: true, compacted: false, messages: 0 })
    expect(house.count(id, 'context.compacted')).toBe(1)
    await outsider.close()
  })

  test('inbox has the messages to the operator', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    expect(await outsider.call('inbox')).toMatchObject({ messages: [] })
    await house.spawn('notes')
    await house.ok('send', 'notes', '--queue', 'hello')
    await house.ok('deliver', 'notes')
    expect((await outsider.call('inbox')).messages).toMatchObject([{ content: 'echo: hello' }])
    await outsider.close()
  })

  test('wait returns after its time, with a turn that goes on', async () => {
    const house = new House()
    await house.spawn('notes', '--option', house.scenario('slow.json', { after_file: 'go', say: 'Done.' }))
    const outsider = await Outsider.open(house)
    await outsider.call('send', { agent: 'notes', message: 'slow', key: 'k1' })
    expect(await outsider.call('wait', { agents: ['notes'], seconds: 0 })).toMatchObject({
      done: false,
      agents: [{ status: 'running' }],
    })
    house.write('go', '')
    expect(await outsider.call('wait', { agents: ['notes'] })).toMatchObject({ agents: [{ reply: 'Done.' }] })
    await outsider.close()
  })

  test('name an agent that does not exist as an error with the next step', async () => {
    const house = new House()
    const outsider = await Outsider.open(house)
    await expect(outsider.call('status', { agent: 'gone' })).rejects.toThrow('AGENT_NOT_FOUND')
    await expect(outsider.call('send', { agent: 'gone', message: 'x', key: 'k' })).rejects.toThrow('no agent')
    await outsider.close()
  })
})

describe('with --allow-decisions', () => {
  test.for([
    ['approve', true],
    ['deny', false],
  ] as const)('%s decides the calls that the client has seen', async ([decision, isRun]) => {
    const house = new House()
    const scenario = house.scenario('touch.json', { tools: [TOUCH] }, { say: 'Done.' })
    const outsider = await Outsider.open(house, '--allow-decisions')
    const [, option = ''] = /scenario=(.*)/.exec(scenario) ?? []
    await outsider.call('spawn', { name: 'notes', options: { scenario: option } })
    await outsider.call('send', { agent: 'notes', message: 'touch', key: 'k1' })
    const { agents } = await outsider.call('wait', { agents: ['notes'] })
    const { token_id } = agents[0].waits_for
    expect(await outsider.call(decision, { agent: 'notes', token_id })).toMatchObject({ decided: true })
    expect(await outsider.call('wait', { agents: ['notes'] })).toMatchObject({ agents: [{ reply: 'Done.' }] })
    expect(existsSync(path.join(house.workspace, 'touched'))).toBe(isRun)
    const [id = ''] = house.ids()
    const acts = house.records(id).filter((record) => 'actor' in record && record.actor !== undefined)
    const outside = { face: 'mcp', claims: { client: 'outsider 1' } }
    expect(acts.map(({ kind }) => kind)).toEqual(['session.created', 'message.user', 'token.consumed'])
    expect(acts).toMatchObject(acts.map(() => ({ actor: outside })))
    await outsider.close()
  })

  test('spawn refuses an entry of allow that would become another one', async () => {
    const house = new House()
    const outsider = await Outsider.open(house, '--allow-decisions')
    const refused = outsider.call('spawn', { name: 'notes', allow: ['shell(touch a', 'b)'] })
    await expect(refused).rejects.toThrow('is not the name of a tool')
    expect((await house.ok('list', '--json')).json.agents).toEqual([])
    await outsider.close()
  })

  test('answer answers a question', async () => {
    const house = new House()
    const ask = { name: 'ask_operator', input: { question: 'Which colour?' } }
    await house.spawn('notes', '--option', house.scenario('ask.json', { tools: [ask] }, { say: 'Painted.' }))
    const outsider = await Outsider.open(house, '--allow-decisions')
    await outsider.call('send', { agent: 'notes', message: 'paint', key: 'k1' })
    await outsider.call('wait', { agents: ['notes'] })
    await outsider.call('answer', { agent: 'notes', text: 'blue', key: 'k2' })
    expect(await outsider.call('wait', { agents: ['notes'] })).toMatchObject({
      agents: [{ reply: 'Painted.' }],
    })
    await outsider.close()
  })
})

test('a killed server leaves the turn running, and the next one finds its reply', async () => {
  const house = new House()
  await house.spawn('notes', '--option', house.scenario('slow.json', { after_file: 'go', say: 'Done.' }))
  const first = await Outsider.open(house)
  const message = { agent: 'notes', message: 'slow', key: 'k1' }
  await first.call('send', message)
  first.kill()
  house.write('go', '')
  const second = await Outsider.open(house)
  expect(await second.call('wait', { agents: ['notes'] })).toMatchObject({
    done: true,
    agents: [{ reply: 'Done.' }],
  })
  expect(await second.call('send', message)).toMatchObject({ outcome: 'completed', reply: 'Done.' })
  await second.close()
})

test('a request that is longer than 24 MiB ends the server with a sentence', async () => {
  const running = new House().start(['mcp', '--operator'], { stdin: 'open' })
  running.child.stdin?.on('error', () => undefined).end('x'.repeat(25 * 1024 * 1024))
  const { exit, stdout, stderr } = await running.result
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toBe(
    'substrat: a request of the client is longer than 25165824 bytes (put large content into a file of the workspace)\n',
  )
})
