import { readFileSync, statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Gate } from '../support/gate.js'

describe.concurrent('config', () => {
  test('get and list print exactly the documented objects', async () => {
    const house = new House()
    const { json } = await house.ok('config', 'get', 'timeout', '--json')
    expect(json).toStrictEqual({
      key: 'timeout',
      value: '10m',
      source: 'default',
      default: '10m',
      env: 'SUBSTRAT_TIMEOUT',
      help: expect.any(String),
    })
    const listed = await house.ok('config', 'list', '--json')
    expect(Object.keys(listed.json)).toEqual(['settings'])
    expect(listed.json.settings.find(({ key }: { key: string }) => key === 'timeout')).toStrictEqual(json)
    expect((await house.ok('config', 'get', 'timeout')).stdout).toBe('10m\n')
    expect((await house.ok('config', 'list')).stdout).toMatch(
      /^timeout +10m +default +10m +SUBSTRAT_TIMEOUT/m,
    )
    expect(house.exists()).toBe(false)
  })

  test('the environment overrides config.json, which overrides the default', async () => {
    const house = new House()
    const get = async (env = {}) => (await house.run(['config', 'get', 'model', '--json'], { env })).json
    expect(await get()).toMatchObject({ value: null, source: 'default' })
    const set = await house.ok('config', 'set', 'model', 'from-file', '--json')
    expect(set.json).toStrictEqual({ key: 'model', value: 'from-file' })
    expect(await get()).toMatchObject({ value: 'from-file', source: 'config' })
    expect(await get({ SUBSTRAT_MODEL: 'from-env' })).toMatchObject({
      value: 'from-env',
      source: 'environment',
    })
    expect(await get({ SUBSTRAT_MODEL: '' })).toMatchObject({ value: 'from-file' })
    const spawn = async (args: string[], env = {}) =>
      (await house.run(['spawn', '--json', ...args], { env })).json.agent.model
    expect(await spawn([])).toBe('from-file')
    expect(await spawn([], { SUBSTRAT_MODEL: 'from-env' })).toBe('from-env')
    expect(await spawn(['--model', 'from-flag'], { SUBSTRAT_MODEL: 'from-env' })).toBe('from-flag')
  })

  test('allow takes the tools that an agent of the home can have, as spawn --allow does', async () => {
    const house = new House()
    const set = (value: string) => house.run(['config', 'set', 'allow', value])
    await house.spawn('a')
    const server = '{"files": {"command": "files"}}'
    await house.ok('config', 'set', 'mcp_servers', server)
    for (const value of ['all', 'none', 'tree,shell', 'files__read', 'shell(npm test*)'])
      expect((await set(value)).exit, value).toBe(0)
    const refused = [
      ['shel', 'the setting allow: there is no tool shel; did you mean shell?'],
      ['shell,other__read', 'the setting allow: there is no tool other__read'],
      ['shell(a; b)', 'the setting allow: "shell(a; b)" is not the pattern of one simple command'],
    ] as const
    for (const [value, why] of refused) {
      const { exit, stderr } = await set(value)
      expect([exit, stderr]).toEqual([2, expect.stringContaining(why)])
    }
    expect((await house.ok('config', 'get', 'allow')).stdout).toBe('shell(npm test*)\n')
    // The names of the tools of a program are not known.
    await house.spawn('b', '--provider', 'exec', '--option', 'command=cat')
    const { exit, stderr } = await set('shell,Bash')
    expect([exit, stderr]).toEqual([
      0,
      'substrat: substrat has no tool Bash: only an agent program may have it\n',
    ])
  })

  test('a flag overrides the environment, also for a duration', async () => {
    const house = new House({ SUBSTRAT_TIMEOUT: '10m' })
    const gate = new Gate(house, 'g')
    await house.spawn('a', ...gate.flags)
    const sender = house.start(['send', 'a', 'one'])
    await gate.isReached()
    expect((await house.run(['send', 'a', 'two', '--timeout', '50ms'])).exit).toBe(4)
    expect((await house.run(['send', 'a', 'two'], { env: { SUBSTRAT_TIMEOUT: '50ms' } })).exit).toBe(4)
    gate.open()
    await sender.result
  })

  test('an invalid setting is exit 2 for commands that need it, but not for commands that read', async () => {
    const house = new House()
    await house.spawn('a')
    for (const [config, why] of [
      ['{"timeout": "soon"}', /timeout must be a duration such as .*, not "soon"/],
      ['{"slots_max": true}', /slots_max must be a whole number from 1 to 1000, not true/],
      ['{"slots_max": 0}', /slots_max must be a whole number from 1 to 1000, not "0"/],
      ['{"provider": null}', /provider must be a text of 1 to 1000 characters, not null/],
      ['{"nonsense": 1}', /"nonsense" is not a setting/],
      ['[]', /it is not a JSON object/],
      ['{"timeout": ', /it is not JSON/],
      ['', /it is not JSON/],
    ] as const) {
      house.writeHome('config.json', config)
      const logs = house.logs()
      const [send, get, ...reading] = await Promise.all([
        house.run(['send', 'a', 'hello', '--json']),
        house.run(['config', 'get', 'timeout']),
        ...['show', 'log', 'export'].map((command) => house.run([command, 'a'])),
        house.run(['list']),
      ])
      expect([send.exit, get.exit, ...reading.map(({ exit }) => exit)], config).toEqual([2, 2, 0, 0, 0, 0])
      expect(send.json.error).toMatchObject({ code: 'CONFIG_INVALID', where: `${house.home}/config.json` })
      expect(send.json.error.message).toMatch(why)
      expect(house.logs()).toEqual(logs)
    }
  })

  test('the command in the hint corrects an invalid setting', async () => {
    const house = new House()
    await house.spawn('a')
    house.writeHome('config.json', '{"timeout": "soon", "model": "kept"}')
    const { json } = await house.run(['send', 'a', 'hello', '--json'])
    expect(json.error.hint).toBe('substrat config set timeout 10m')
    await house.ok('config', 'set', 'timeout', '10m')
    expect(JSON.parse(readFileSync(`${house.home}/config.json`, 'utf8'))).toEqual({
      timeout: '10m',
      model: 'kept',
    })
    expect((await house.run(['send', 'a', 'hello'])).exit).toBe(0)
    const variable = await house.run(['send', 'a', 'x', '--json'], { env: { SUBSTRAT_SLOTS_MAX: 'many' } })
    expect(variable.exit).toBe(2)
    expect(variable.json.error.hint).toBe('unset SUBSTRAT_SLOTS_MAX')
  })

  test('set refuses an unknown key and a bad value, and changes nothing', async () => {
    const house = new House()
    await house.ok('config', 'set', 'slots_max', '8')
    const before = readFileSync(`${house.home}/config.json`, 'utf8')
    expect(await house.run(['config', 'set', 'slots', '8'])).toMatchObject({ exit: 2 })
    expect(await house.run(['config', 'set', 'slots_max', 'many'])).toMatchObject({ exit: 2 })
    expect(await house.run(['config', 'get', '__proto__'])).toMatchObject({ exit: 2 })
    expect(readFileSync(`${house.home}/config.json`, 'utf8')).toBe(before)
    expect(statSync(`${house.home}/config.json`).mode & 0o077, 'for its owner alone').toBe(0)
  })
})
