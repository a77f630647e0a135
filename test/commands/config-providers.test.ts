/** The settings of providers: new agents with that provider get them, and no others do. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'

/** A provider that answers with its settings. */
const TELLER = `module.exports = {
  kind: 'model',
  description: 'tells its settings',
  options: { tone: 'how it speaks', base_url: 'where it is' },
  async *complete({ model, options }) {
    yield { type: 'text', text: JSON.stringify({ model, options }) }
    yield { type: 'stop', reason: 'end' }
  },
}`

function houseWithTeller(env: Record<string, string> = {}): House {
  const house = new House(env)
  house.plugin('tell', TELLER)
  return house
}

async function told(house: House, args: string[], env = {}): Promise<unknown> {
  const { exit, stdout, stderr } = await house.run(['spawn', 'hi', ...args], { env })
  expect(exit, stderr).toBe(0)
  return JSON.parse(stdout)
}

describe.concurrent('the settings of a provider', () => {
  test('are the defaults of its new agents, below the environment and the flags', async () => {
    const house = houseWithTeller()
    await house.ok('config', 'set', 'tell.model', 'file-model')
    await house.ok('config', 'set', 'tell.tone', 'low')
    await house.ok('config', 'set', 'tell.base_url', 'http://127.0.0.1:1')
    const spawn = ['--provider', 'tell']
    const options = { tone: 'low', base_url: 'http://127.0.0.1:1' }
    expect(await told(house, spawn)).toEqual({ model: 'file-model', options })
    const env = { SUBSTRAT_TELL_MODEL: 'env-model', SUBSTRAT_TELL_TONE: 'high' }
    expect(await told(house, spawn, env)).toEqual({
      model: 'env-model',
      options: { ...options, tone: 'high' },
    })
    expect(await told(house, [...spawn, '--model', 'flag', '--option', 'tone=flat'], env)).toEqual({
      model: 'flag',
      options: { ...options, tone: 'flat' },
    })
  })

  test('are recorded by spawn, and set --model with an empty value applies the newest', async () => {
    const house = houseWithTeller()
    await house.ok('config', 'set', 'tell.model', 'first')
    await house.spawn('a', '--provider', 'tell')
    await house.ok('config', 'set', 'tell.model', 'second')
    expect((await house.ok('send', 'a', 'hi')).json.model).toBe('first')
    expect((await house.ok('show', 'a', '--json')).json.agent.model).toBe('first')
    await house.ok('set', 'a', '--model', '')
    expect((await house.ok('send', 'a', 'hi')).json.model).toBe('second')
    await house.ok('config', 'unset', 'tell.model')
    await house.ok('set', 'a', '--model', '')
    expect((await house.ok('send', 'a', 'hi')).json.model).toBe(null)
  })

  test('apply to a fork and to a child with that provider, but not to those of another one', async () => {
    const house = houseWithTeller()
    await house.ok('config', 'set', 'tell.model', 'm')
    const input = { name: 'child', provider: 'tell' }
    const make = { tools: [{ name: 'spawn_agent', input }], say: 'made' }
    const scenario = house.scenario('make.json', make, { say: 'done' })
    const flags = ['--allow', 'all', '--option', scenario]
    await house.ok('spawn', 'go', '--name', 'lead', '--model', 'other', ...flags)
    expect((await house.ok('show', 'lead/child', '--json')).json.agent.model).toBe('m')
    const forked = await house.ok('fork', 'lead', '--provider', 'tell', '--json')
    expect(forked.json.agent.model).toBe('m')
    expect((await house.ok('fork', 'lead', '--json')).json.agent.model).toBe('other')
  })

  test('are refused for an unknown provider or option, and the error lists the known ones', async () => {
    const house = houseWithTeller()
    const refused = async (...args: string[]): Promise<[number, string]> => {
      const { exit, stderr } = await house.run(['config', ...args])
      return [exit, stderr.trim()]
    }
    expect(await refused('set', 'tel.model', 'x')).toEqual([
      3,
      expect.stringMatching(/^substrat: there is no provider "tel"; did you mean tell\? \(available: .*tell/),
    ])
    expect(await refused('set', 'provider', 'tel')).toEqual([3, expect.stringContaining('no provider "tel"')])
    const options = 'its options: model, tone, base_url; see substrat providers'
    expect(await refused('set', 'tell.base_ur', 'x')).toEqual([
      2,
      `substrat: the provider tell has no option "base_ur"; did you mean base_url? (${options})`,
    ])
    expect((await refused('get', 'tell.nothing'))[0]).toBe(2)
    expect((await refused('unset', 'tell.nothing'))[0]).toBe(2)
    expect(await refused('set', 'recovery.unknown', 'stop')).toEqual([
      2,
      expect.stringContaining('there is no setting "recovery.unknown"'),
    ])
    expect(await refused('set', 'tell.tone', '')).toEqual([
      2,
      expect.stringContaining('tell.tone must be a text of 1 to 1000 characters'),
    ])
    expect(house.exists()).toBe(true)
    expect((await house.run(['config', 'path'])).stdout).toBe(`${house.home}/config.json\n`)
  })

  test('with an option that the provider does not have stop only its own new agents', async () => {
    const house = houseWithTeller()
    await house.spawn('old', '--provider', 'tell')
    house.writeHome('config.json', '{"tell.pitch": "x", "gone.model": "y"}')
    const { exit, stderr } = await house.run(['spawn', '--provider', 'tell'])
    expect({ exit, stderr }).toEqual({
      exit: 2,
      stderr: `substrat: ${house.home}/config.json is invalid: the provider tell has no option "pitch" (remove it: substrat config unset tell.pitch)\n`,
    })
    await house.ok('send', 'old', 'hi')
    await house.spawn('other')
    await house.ok('config', 'unset', 'tell.pitch')
    await house.spawn('new', '--provider', 'tell')
    expect((await house.ok('config', 'unset', 'gone.model')).stdout).toContain('gone.model is removed')
    expect(readFileSync(`${house.home}/config.json`, 'utf8')).toBe('{}\n')
  })

  test('are listed if they have a value, also for a provider that is not installed', async () => {
    const house = houseWithTeller({ SUBSTRAT_TELL_TONE: 'low' })
    await house.ok('config', 'set', 'tell.model', 'm')
    house.writeHome('config.json', '{"tell.model": "m", "gone.model": 7}')
    const { settings } = (await house.ok('config', 'list', '--json')).json
    expect(settings.filter(({ key }: { key: string }) => /^(tell|gone)\./.test(key))).toMatchObject([
      { key: 'tell.model', value: 'm', source: 'config', env: 'SUBSTRAT_TELL_MODEL' },
      { key: 'tell.tone', value: 'low', source: 'environment', help: 'how it speaks' },
      { key: 'gone.model', value: '7', source: 'config' },
    ])
    expect((await house.ok('config', 'get', 'tell.model')).stdout).toBe('m\n')
    const words = (await house.ok('complete', '--', 'config', 'set', 'tell')).stdout.split('\n')
    expect(words.map((line) => line.split('\t')[0])).toEqual(['tell.model', 'tell.tone', 'tell.base_url', ''])
    expect((await house.ok('complete', '--', 'config', 'set', 'provider', 't')).stdout).toBe('tell\ttell\n')
  })
})

describe.concurrent('the general model', () => {
  const modelOf = async (house: House, args: string[], env = {}): Promise<string | null> =>
    (await house.run(['spawn', '--json', ...args], { env })).json.agent.model

  test('applies to agents of the configured provider only', async () => {
    const house = houseWithTeller({ SUBSTRAT_PROVIDER: '' })
    await house.ok('config', 'set', 'provider', 'tell')
    await house.ok('config', 'set', 'model', 'm')
    expect(await modelOf(house, [])).toBe('m')
    expect(await modelOf(house, ['--provider', 'tell'])).toBe('m')
    expect(await modelOf(house, ['--provider', 'scripted'])).toBe(null)
    await house.ok('config', 'set', 'tell.model', 'own')
    expect(await modelOf(house, [])).toBe('own')
  })

  test('of config.json stays with the provider of config.json while the environment names another', async () => {
    const house = houseWithTeller({ SUBSTRAT_PROVIDER: '' })
    await house.ok('config', 'set', 'provider', 'tell')
    await house.ok('config', 'set', 'model', 'm')
    const env = { SUBSTRAT_PROVIDER: 'scripted' }
    expect(await modelOf(house, [], env)).toBe(null)
    expect(await modelOf(house, ['--provider', 'tell'], env)).toBe('m')
    expect(await modelOf(house, [], { ...env, SUBSTRAT_MODEL: 'e' })).toBe('e')
  })

  test('applies to no agent without a configured provider', async () => {
    const house = houseWithTeller({ SUBSTRAT_PROVIDER: '' })
    await house.ok('config', 'set', 'model', 'm')
    expect(await modelOf(house, ['--provider', 'tell'])).toBe(null)
  })
})
