import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { modelProvider, writePlugin } from '../support/plugin.js'

const SHOUT = modelProvider(
  `yield { type: 'text', text: request.prompt.toUpperCase() }; yield { type: 'stop', reason: 'end' }`,
)

describe.concurrent('providers add', () => {
  test('installs a provider from a directory, which spawn then uses', async () => {
    const house = House.ofProcesses()
    const directory = writePlugin(house.root, {
      name: 'substrat-provider-shout',
      providers: { shout: SHOUT },
    })
    const { json } = await house.ok('providers', 'add', directory, '--json')
    expect(json).toMatchObject({ providers: ['shout'], plugin: 'substrat-provider-shout', changed: true })
    expect((await house.ok('spawn', 'hi', '--name', 'a', '--provider', 'shout')).stdout).toBe('HI\n')
    expect((await house.ok('providers', 'add', directory)).stdout).toContain('shout was installed already')
    await house.ok('plugins', 'uninstall', 'substrat-provider-shout')
    expect((await house.run(['send', 'a', 'hi'])).exit).toBe(3)
    await house.ok('providers', 'add', directory)
    expect((await house.ok('send', 'a', 'hi')).stdout).toBe('HI\n')
    expect(house.findings(true)).toEqual([])
  })

  test('is the command that the error of an official provider names, and installs it by its name', async () => {
    const house = House.ofProcesses()
    const missing = await house.run(['spawn', '--provider', 'openai', '--model', 'm'])
    expect([missing.exit, missing.stderr]).toEqual([
      3,
      'substrat: the provider openai is not installed (install it: substrat providers add openai)\n',
    ])
    const { available } = (await house.ok('providers', '--json')).json
    const names = available.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['acp', 'anthropic', 'claude-code', 'codex', 'openai', 'opencode'])
    expect((await house.ok('providers')).stdout).toMatch(
      /^openai +- +not installed .* \(substrat providers add openai\)$/m,
    )
    const plugin = { name: 'substrat-provider-mine', providers: { openai: SHOUT } }
    await house.ok('providers', 'add', writePlugin(house.root, plugin))
    const agent = await house.spawn('a', '--provider', 'openai')
    await house.ok('plugins', 'uninstall', 'substrat-provider-mine')
    expect((await house.ok('show', agent)).stdout).toMatch(
      /^provider +openai\n +not installed; install it: substrat providers add openai$/m,
    )
    await house.ok('providers', 'add', 'openai')
    expect((await house.ok('show', agent)).stdout).not.toContain('not installed')
    const { json } = await house.ok('providers', 'openai', '--json')
    expect(json.providers).toMatchObject([{ name: 'openai', kind: 'model', keys: ['OPENAI_API_KEY'] }])
    await house.ok('config', 'set', 'openai.model', 'm')
    const { json: known } = await house
      .ok('complete', '--', 'providers', 'add', 'o')
      .then(({ stdout }) => ({ json: stdout }))
    expect(known.split('\t')[0]).toBe('opencode')
  })

  test('refuses an unknown name with the official ones', async () => {
    const { exit, stderr } = await new House().run(['providers', 'add', 'opnai'])
    expect([exit, stderr]).toEqual([
      3,
      expect.stringMatching(/no official provider "opnai"; did you mean openai\? \(official: acp, /),
    ])
  })
})

test.for(['./x.tgz', '../x.tgz', '/tmp/x', 'x.tgz', './plugins/provider-x'])(
  'plugins install %s is refused at once with the command for a path',
  async (name) => {
    const { exit, stdout, stderr } = await new House().run(['plugins', 'install', name, '--json'])
    expect(exit).toBe(2)
    expect(JSON.parse(stdout).error.hint).toContain(`substrat providers add ${name};`)
    expect(stderr).toContain(`${name} is a path`)
  },
)
