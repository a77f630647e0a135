/** Tools that run without approval: where they can be allowed, and for how long. */
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { MARKS, ran } from '../support/parked.js'

const WRITES = { name: 'write_file', input: { path: 'made.txt', content: 'hello' } }
const READS = { name: 'read_file', input: { path: 's.json' } }

async function agent(house: House, tools: object[], ...flags: string[]): Promise<string> {
  const option = house.scenario('s.json', { tools }, { say: 'one' }, { tools }, { say: 'two' })
  return house.spawn('a', '--option', option, ...flags)
}

describe.concurrent('a tool that changes things runs without approval', () => {
  test('if spawn allows it, in every turn', async () => {
    const house = new House()
    await agent(house, [MARKS], '--allow', 'shell')
    for (const reply of ['one\n', 'two\n']) expect((await house.ok('send', 'a', 'go')).stdout).toBe(reply)
    expect(ran(house)).toBe(2)
  })

  test('if send allows it, only in that turn', async () => {
    const house = new House()
    await agent(house, [MARKS, WRITES])
    expect((await house.run(['send', 'a', 'go', '--allow', 'shell,write_file'])).exit).toBe(0)
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    expect(ran(house)).toBe(1)
  })

  test('if the settings allow it, for every agent', async () => {
    const house = new House()
    await agent(house, [MARKS])
    await house.ok('config', 'set', 'allow', 'shell')
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(0)
    expect((await house.run(['send', 'a', 'go'], { env: { SUBSTRAT_ALLOW: 'write_file' } })).exit).toBe(5)
  })

  test('if set allows it, from the next turn on; an empty value revokes that', async () => {
    const house = new House()
    await agent(house, [MARKS])
    await house.ok('set', 'a', '--allow', 'shell')
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(0)
    await house.ok('set', 'a', '--allow', '')
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
  })

  test('if all tools are allowed', async () => {
    const house = new House()
    await agent(house, [MARKS, WRITES])
    expect((await house.run(['send', 'a', 'go', '--allow', 'all'])).exit).toBe(0)
    expect(house.read('made.txt')).toBe('hello')
  })

  test('if it only reads, even if no tool is allowed', async () => {
    const house = new House()
    await agent(house, [READS])
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(0)
  })
})

describe.concurrent('a tool that is not allowed', () => {
  test('needs approval; allowed calls run before it', async () => {
    const house = new House()
    await agent(house, [WRITES, MARKS], '--allow', 'shell')
    const sent = await house.run(['send', 'a', 'go', '--json'])
    expect(sent.exit).toBe(5)
    expect(sent.json.wait.asks).toEqual([{ tool: 'write_file', input: WRITES.input }])
    expect(ran(house)).toBe(1)
    expect(house.read('made.txt')).toBeUndefined()
  })

  test('needs approval in a run that started before it was allowed: run.started has the permissions', async () => {
    const house = new House()
    const id = await agent(house, [MARKS])
    expect((await house.run(['send', 'a', 'go', '--allow', 'write_file'])).exit).toBe(5)
    await house.ok('config', 'set', 'allow', 'all')
    expect((await house.run(['resume', 'a'])).exit).toBe(5)
    expect(ran(house)).toBe(0)
    expect(house.records(id).find(({ kind }) => kind === 'run.started')).toMatchObject({
      allow: ['write_file'],
    })
  })

  test.each(['sh ell', ',', '../x'])('cannot be named %j', async (name) => {
    const house = new House()
    await house.spawn('a')
    const refused = await house.run(['send', 'a', 'go', '--allow', name])
    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(refused.stderr).toContain('list of tool names')
  })
})

test('a call of an unknown tool gives the model an error, without approval', async () => {
  const house = new House()
  const id = await agent(house, [{ name: 'teleport', input: {} }])
  expect((await house.ok('send', 'a', 'go')).stdout).toBe('one\n')
  expect(house.records(id).find(({ kind }) => kind === 'tool.finished')).toMatchObject({
    content: 'There is no tool teleport.',
    is_error: true,
  })
})

test('--max-steps bounds the requests of a turn: exit 9, and its calls have their results', async () => {
  const house = new House()
  const id = await house.spawn(
    'a',
    '--option',
    house.scenario('s.json', ...Array(5).fill({ tools: [READS] })),
  )
  const sent = await house.run(['send', 'a', 'go', '--max-steps', '3', '--json'])
  expect([sent.exit, sent.json.error.code]).toEqual([9, 'PROVIDER_FAILED'])
  expect(sent.json.error.message).toContain(
    'the turn asked the model 3 times without finishing (--max-steps)',
  )
  expect(house.count(id, 'model.requested')).toBe(3)
  expect(house.count(id, 'tool.finished')).toBe(3)
  expect(house.findings(true)).toEqual([])
})

test("a tool does not get the provider's API key: its variables are withheld", async () => {
  const house = House.ofProcesses({ CANARY_KEY: 'sk-canary', OTHER: 'kept' })
  house.plugin(
    'keyed',
    `export default {
      kind: 'model',
      description: 'has a key',
      options: {},
      secrets: () => ['CANARY_KEY'],
      async *complete(request) {
        const isAnswered = request.messages().some(({ role }) => role === 'tool')
        if (!isAnswered) yield { type: 'tool_call', call: { call_id: 'c', name: 'shell', input: { command: 'env' } } }
        yield { type: 'text', text: process.env.CANARY_KEY === undefined ? 'without' : 'with its key' }
        yield { type: 'stop', reason: isAnswered ? 'end' : 'tool_calls' }
      },
    }`,
  )
  const id = await house.spawn('a', '--provider', 'keyed', '--allow', 'shell')
  expect((await house.ok('send', 'a', 'go')).stdout).toBe('with its key\n')
  expect(house.log(id)).toContain('OTHER=kept')
  expect(house.log(id)).not.toContain('sk-canary')
})

describe.concurrent('a pattern for shell', () => {
  const shell = (command: string): object => ({ name: 'shell', input: { command } })

  test('lets the commands run that it covers; any other needs approval, also beside them', async () => {
    const house = new House()
    const id = await agent(house, [shell('echo one >&1'), shell('echo two')], '--allow', 'shell(echo *)')
    const sent = await house.run(['send', 'a', 'go', '--json'])
    expect(sent.exit).toBe(5)
    expect(sent.json.wait.asks).toEqual([{ tool: 'shell', input: { command: 'echo one >&1' } }])
    expect(house.count(id, 'tool.finished')).toBe(1)
    expect((await house.ok('approve', 'a')).stdout).toBe('one\n')
    expect(house.findings(true)).toEqual([])
  })

  test('may have commas, and may be in the settings', async () => {
    const house = new House()
    await agent(house, [shell('echo a,b c')])
    await house.ok('config', 'set', 'allow', 'write_file,shell(echo a,b c)')
    expect((await house.ok('send', 'a', 'go')).stdout).toBe('one\n')
  })

  test('covers each call of a response, also those after the first', async () => {
    const house = new House()
    const id = await agent(house, [shell('echo one'), shell("echo 'two; three'")], '--allow', 'shell(echo *)')
    expect((await house.ok('send', 'a', 'go')).stdout).toBe('one\n')
    expect(house.count(id, 'tool.finished')).toBe(2)
  })
})

describe.concurrent('--allow is refused', () => {
  test.each([
    ['shel', 'there is no tool shel; did you mean shell?'],
    ['shell(rm; ls)', 'is not the pattern of one simple command'],
    ['write_file(x)', 'is not the pattern of one simple command'],
    ['nowhere__tool', 'there is no tool nowhere__tool'],
  ])('with %s, at spawn, set and send', async (entry, why) => {
    const house = new House()
    const id = await house.spawn('a')
    const log = house.log(id)
    for (const words of [
      ['spawn', '--name', 'b', '--allow', entry],
      ['set', 'a', '--allow', entry],
      ['send', 'a', 'go', '--allow', entry],
    ]) {
      const refused = await house.run(words)
      expect(refused).toMatchObject({ exit: 2, stdout: '' })
      expect(refused.stderr).toContain(why)
    }
    expect(house.count(id, 'run.started')).toBe(0)
    expect(house.log(id).startsWith(log)).toBe(true)
    expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
  })
})

describe.concurrent('the tools that an agent may use', () => {
  test('are shown with the command that allowed each, and can be taken back one by one', async () => {
    const house = new House()
    await agent(house, [READS], '--allow', 'read_file')
    await house.ok('set', 'a', '--allow', 'read_file,edit_file')
    const option = house.scenario('t.json', { tools: [WRITES] }, { say: 'one' }, { tools: [WRITES] })
    await house.ok('set', 'a', '--option', option)
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
    expect((await house.ok('approve', 'a', '--always')).stdout).toBe('one\n')
    const { json } = await house.ok('show', 'a', '--json')
    const { created_at } = json.agent
    expect(json.grants).toEqual([
      { entry: 'read_file', by: 'spawn', since: created_at },
      { entry: 'edit_file', by: 'set', since: expect.any(String) },
      { entry: 'write_file', by: 'approve', since: expect.any(String) },
    ])
    const listed = (await house.ok('list', '--json')).json.agents[0]
    expect(listed.allow).toEqual(['read_file', 'edit_file', 'write_file'])
    expect((await house.ok('show', 'a')).stdout).toMatch(/^ +write_file \(approve --always, /m)

    await house.ok('set', 'a', '--disallow', 'write_file')
    expect((await house.ok('show', 'a')).stdout).not.toContain('write_file')
    expect((await house.run(['send', 'a', 'go'])).exit).toBe(5)
  })

  test('are named if the entry to take back is not there, and none is changed', async () => {
    const house = new House()
    const id = await agent(house, [READS], '--allow', 'read_file')
    const { exit, stderr } = await house.run(['set', 'a', '--disallow', 'shell'])
    expect(exit).toBe(2)
    expect(stderr).toContain('a has no entry "shell": it allows only read_file')
    expect(house.count(id, 'session.configured')).toBe(0)
  })

  test('are shown with the setting that allows them, which set --disallow names and leaves', async () => {
    const house = new House()
    const id = await agent(house, [READS], '--allow', 'shell')
    await house.ok('config', 'set', 'allow', 'write_file,shell(git status)')
    const ofSetting = [
      { entry: 'write_file', by: 'setting' },
      { entry: 'shell(git status)', by: 'setting' },
    ]
    const { json } = await house.ok('show', 'a', '--json')
    const { created_at } = json.agent
    expect(json.grants).toEqual([{ entry: 'shell', by: 'spawn', since: created_at }, ...ofSetting])
    expect((await house.ok('show', 'a')).stdout).toMatch(
      /^allowed +shell \(spawn --allow, .+\)\n +write_file \(setting allow\)\n +shell\(git status\) \(setting allow\)$/m,
    )
    const listed = (await house.ok('list', '--json')).json
    expect([listed.agents[0].allow, listed.grants]).toEqual([['shell'], ofSetting])
    const env = { SUBSTRAT_ALLOW: 'edit_file' }
    expect((await house.run(['show', 'a'], { env })).stdout).toMatch(/^ +edit_file \(SUBSTRAT_ALLOW\)$/m)
    const { exit, stderr } = await house.run(['set', 'a', '--disallow', 'write_file'])
    expect(exit).toBe(2)
    expect(stderr).toContain('"write_file" is allowed for every agent, by the setting allow')
    expect(house.count(id, 'session.configured')).toBe(0)
    await house.ok('config', 'unset', 'allow')
    expect((await house.ok('list', '--json')).json).not.toHaveProperty('grants')
  })

  test('are shown without those of the setting if config.json is invalid', async () => {
    const house = new House()
    await agent(house, [READS], '--allow', 'shell')
    house.writeHome('config.json', '{"allow": ')
    expect((await house.ok('show', 'a', '--json')).json.grants).toMatchObject([{ entry: 'shell' }])
  })

  test('are listed alike from a snapshot and from the log', async () => {
    const house = new House()
    await agent(house, [READS], '--allow', 'read_file')
    await house.ok('send', 'a', 'go')
    const before = (await house.ok('list', '--json')).json.agents
    rmSync(house.agentFile(before[0].id, 'session.json'))
    expect((await house.ok('list', '--json')).json.agents).toEqual(before)
    expect(before[0].allow).toEqual(['read_file'])
  })
})
