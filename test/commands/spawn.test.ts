import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe.concurrent('spawn', () => {
  test('prints only the UUID', async () => {
    const house = new House()
    const { exit, stdout, stderr } = await house.run(['spawn', '--name', 'a'], { stdin: 'open' })
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout.trim()).toMatch(UUID)
    expect(house.kinds(stdout.trim())).toEqual(['session.created'])
  })

  test('without a configured provider exits 8, says how to choose one, and creates nothing', async () => {
    const house = new House({ SUBSTRAT_PROVIDER: '' })
    const spawned = await house.run(['spawn', 'hello', '--name', 'a', '--json'])
    expect(spawned.exit).toBe(8)
    expect(spawned.json.error).toMatchObject({
      code: 'PROVIDER_MISCONFIGURED',
      message: 'no provider is configured',
      hint: 'list them: substrat providers; then set a default: substrat config set provider NAME; or name one: --provider NAME',
    })
    expect(house.logs()).toEqual({})
    expect((await house.run(['spawn', 'hello', '--provider', 'scripted'])).stdout).toBe('echo: hello\n')
    await house.ok('config', 'set', 'provider', 'scripted')
    expect((await house.run(['spawn', 'hello', '--name', 'a'])).stdout).toBe('echo: hello\n')
  })

  test('--if-exists use needs no configured provider for an agent that exists', async () => {
    const house = new House()
    const id = await house.spawn('a')
    const env = { SUBSTRAT_PROVIDER: '' }
    const used = await house.run(['spawn', 'hello', '--name', 'a', '--if-exists', 'use'], { env })
    expect(used).toMatchObject({ exit: 0, stdout: 'echo: hello\n', stderr: `${id}\n` })
    expect((await house.run(['spawn', '--name', 'b', '--if-exists', 'use'], { env })).exit).toBe(8)
  })

  test('with a prompt prints only the reply, and the UUID on stderr', async () => {
    const house = new House()
    const spawned = await house.run(['spawn', 'hello', '--provider', 'scripted'])
    expect(spawned).toMatchObject({ exit: 0, stdout: 'echo: hello\n' })
    expect(spawned.stderr.trim()).toMatch(UUID)
    expect(house.kinds(spawned.stderr.trim()).slice(-3)).toEqual([
      'run.completed',
      'session.suspended',
      'status.derived',
    ])
  })

  test('prints with --json the object of send, with run null without a prompt', async () => {
    const house = new House()
    const spawned = await house.run([
      'spawn',
      '--name',
      'a',
      '--model',
      'm',
      '--provider',
      'scripted',
      '--json',
    ])
    const agent = {
      id: expect.stringMatching(UUID),
      name: 'a',
      path: 'a',
      title: null,
      parent: null,
      provider: 'scripted',
      model: 'm',
      state: 'created',
      status: 'idle',
      shown_status: 'idle',
      workspace: house.workspace,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      last_seq: 1,
      inbox: 0,
    }
    expect(spawned.json).toStrictEqual({ agent, run: null, reply: null, wait: null })
    const prompted = await house.run(['spawn', 'hello', '--provider', 'scripted', '--json'])
    expect(prompted.json).toStrictEqual({
      agent: {
        ...agent,
        name: null,
        path: prompted.json.agent.id,
        model: null,
        state: 'suspended',
        last_seq: 11,
      },
      run: {
        id: expect.any(String),
        status: 'completed',
        started_at: expect.any(String),
        ended_at: expect.any(String),
        usage: { input_tokens: 1, output_tokens: 2 },
      },
      reply: 'echo: hello',
      wait: null,
    })
  })

  test('prints with --stream every record from the first', async () => {
    const house = new House()
    const { stdout, stderr } = await house.run(['spawn', 'hello', '--provider', 'scripted', '--stream'])
    const records = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter((line) => !line.partial)
    const id = stderr.trim()
    expect(records).toStrictEqual(house.records(id).map((record) => ({ agent: id, ...record })))
  })

  test('reads the prompt from stdin only for -', async () => {
    const house = new House()
    const both = await house.run(['spawn', 'Review:', '-'], { stdin: 'a diff\n' })
    expect(both.stdout).toBe('echo: Review:\n\na diff\n')
    expect((await house.run(['spawn', '-'], { stdin: 'only this' })).stdout).toBe('echo: only this\n')
    expect((await house.run(['spawn', '-'], { stdin: '' })).exit).toBe(2)
  })

  test('refuses the name of a living agent, names that agent, and creates nothing', async () => {
    const house = new House()
    const id = await house.spawn('Ünïted')
    const refused = await house.run(['spawn', '--name', 'U\u0308NI\u0308TED', '--json'])
    expect(refused.exit).toBe(13)
    expect(refused.json.error).toMatchObject({ code: 'NAME_TAKEN', agent_id: id })
    expect(Object.keys(house.logs())).toEqual([id])
  })

  test('in a deleted directory is a usage error, not a bug', async () => {
    const house = new House()
    const gone = `mkdir gone && cd gone && rmdir ../gone && exec "$@"`
    const { exit, stderr } = await house.launch(['sh', '-c', gone, 'sh', ...house.command('spawn')]).result
    expect(exit).toBe(2)
    expect(stderr).toMatch(/^substrat: the current directory no longer exists \(change to .*\)\n$/)
    expect(Object.keys(house.logs())).toEqual([])
  })

  test('--if-exists use keeps the living agent unchanged and sends it the prompt', async () => {
    const house = new House()
    const id = await house.spawn('a', '--model', 'm')
    const again = await house.run([
      'spawn',
      '--name',
      'a',
      '--if-exists',
      'use',
      '--model',
      'other',
      '--json',
    ])
    expect(again.json).toMatchObject({ agent: { id, model: 'm' }, run: null })
    const prompted = await house.run(['spawn', 'hello', '--name', 'a', '--if-exists', 'use'])
    expect(prompted).toMatchObject({ exit: 0, stdout: 'echo: hello\n' })
    expect(prompted.stderr).toContain(id)
  })

  test('--if-exists use by several commands at once creates one agent', async () => {
    const house = new House()
    const use = () => house.run(['spawn', '--name', 'a', '--if-exists', 'use'])
    const spawned = await Promise.all([use(), use(), use(), use()])
    expect(spawned.map(({ exit }) => exit)).toEqual([0, 0, 0, 0])
    expect(new Set(spawned.map(({ stdout }) => stdout))).toEqual(new Set([`${Object.keys(house.logs())}\n`]))
    expect(house.findings(true)).toEqual([])
  })

  test('several first commands at once all succeed in one home', async () => {
    const house = new House()
    const spawned = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => house.run(['spawn', '--name', name])),
    )
    expect(spawned.map(({ exit }) => exit)).toEqual([0, 0, 0, 0])
    const listed = await house.ok('list', '--json')
    expect(listed.json.agents.map(({ name }: { name: string }) => name).sort()).toEqual(['a', 'b', 'c', 'd'])
    expect(house.findings(true)).toEqual([])
  })

  test('killed after it printed the UUID, it still gets its first turn', async () => {
    const house = new House()
    const gate = new Gate(house, 'g')
    const spawning = house.start(['spawn', 'hello', '--name', 'a', ...gate.flags])
    await gate.isReached()
    await spawning.kill()
    const id = spawning.stderr.trim()
    expect(id).toMatch(UUID)
    // The orphaned program may take the first slot.
    gate.open()
    gate.open()
    expect((await house.run(['recover', '--all'])).exit).toBe(0)
    expect((await house.run(['show', id, '--reply'])).stdout).toMatch(/^done: [\s\S]*hello\n$/)
    expect(house.findings(true)).toEqual([])
  })

  test('below a parent, has its provider, model, options and context, unless they are given', async () => {
    const house = new House({ SUBSTRAT_PROVIDER: '' })
    const option = house.scenario('s.json', { say: 'as lead' }, { say: 'again' })
    const lead = ['--provider', 'scripted', '--model', 'm', '--option', option, '--context', 'turn']
    await house.spawn('lead', ...lead)
    const shown = async (name: string) => (await house.ok('show', name, '--json')).json
    await house.spawn('same', '--parent', 'lead')
    expect(await shown('lead/same')).toMatchObject({
      agent: { provider: 'scripted', model: 'm' },
      options: { scenario: 's.json' },
      context: 'turn',
    })
    expect((await house.ok('send', 'lead/same', 'go')).stdout).toBe('as lead\n')
    await house.spawn('near', '--parent', 'lead', '--model', 'n', '--context', 'all')
    expect(await shown('lead/near')).toMatchObject({
      agent: { model: 'n' },
      options: { scenario: 's.json' },
      context: 'all',
    })
    await house.spawn('other', '--parent', 'lead', '--provider', 'scripted')
    expect(await shown('lead/other')).toMatchObject({ agent: { model: null }, options: {}, context: 'all' })
    expect((await house.run(['spawn', '--name', 'root'])).exit).toBe(8)
  })

  test('--option may be given before the prompt, and more than once', async () => {
    const house = new House()
    house.plugin(
      'two',
      `
      export default { kind: 'model', description: 'd', options: { a: 'one', b: 'two' }, async *complete(request) {
        yield { type: 'text', text: JSON.stringify(request.options) + request.prompt }
        yield { type: 'stop', reason: 'end' }
      } }`,
    )
    const spawned = await house.run(['spawn', '-p', 'two', '-o', 'a=1', '-o', 'b=x=y', 'hello'])
    expect(spawned).toMatchObject({ exit: 0, stdout: '{"a":"1","b":"x=y"}hello\n' })
  })
})
