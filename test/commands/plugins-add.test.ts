import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { modelProvider, writePlugin } from '../support/plugin.js'

const RUN = path.join(import.meta.dirname, '../../bin/run.js')
const SHOUT = modelProvider(
  `yield { type: 'text', text: request.prompt.toUpperCase() }; yield { type: 'stop', reason: 'end' }`,
)

describe.concurrent('plugins add', () => {
  test('installs a provider from a directory, which spawn then uses', async () => {
    const house = House.ofProcesses()
    const directory = writePlugin(house.root, {
      name: 'substrat-provider-shout',
      providers: { shout: SHOUT },
    })
    const { json } = await house.ok('plugins', 'add', directory, '--json')
    expect(json).toMatchObject({ providers: ['shout'], plugin: 'substrat-provider-shout', changed: true })
    expect((await house.ok('spawn', 'hi', '--name', 'a', '--provider', 'shout')).stdout).toBe('HI\n')
    expect((await house.ok('providers', 'add', directory)).stdout).toBe(
      'substrat-provider-shout 1.0.0 was installed already: provider shout; next: substrat providers shout\n',
    )
    expect((await house.ok('plugins')).stdout).toMatch(
      /^substrat-provider-shout 1\.0\.0 +provider shout +\//m,
    )
    expect((await house.ok('plugins', 'inspect', 'substrat-provider-shout', '--json')).json).toMatchObject({
      type: 'link',
      providers: ['shout'],
      trouble: null,
    })
    await house.ok('plugins', 'uninstall', 'substrat-provider-shout')
    expect((await house.run(['send', 'a', 'hi'])).exit).toBe(3)
    await house.ok('plugins', 'add', directory)
    expect((await house.ok('send', 'a', 'hi')).stdout).toBe('HI\n')
    expect(house.findings(true)).toEqual([])
  })

  test('has nothing to do for an official plugin, which works without it', async () => {
    const house = House.ofProcesses()
    const { json } = await house.ok('providers', '--json')
    const official = json.providers.filter(({ plugin }: { plugin: string }) => plugin !== 'built-in')
    const names = official.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['acp', 'anthropic', 'claude-code', 'codex', 'openai', 'opencode'])
    for (const word of ['openai', 'serve', 'postgres', 'store-postgres', 'telegram'])
      expect((await house.ok('plugins', 'add', word)).stdout).toMatch(/ comes with substrat: .*; next: /)
    expect(existsSync(path.join(house.env.XDG_DATA_HOME as string, 'substrat', 'providers'))).toBe(false)
    expect(await house.run(['spawn', '--provider', 'openai', '--model', 'm', 'hi'])).toMatchObject({
      exit: 8,
      stderr: expect.stringContaining('OPENAI_API_KEY'),
    })
  })

  test('lets a provider with an official name replace the official one until it is uninstalled', async () => {
    const house = House.ofProcesses()
    const plugin = { name: 'substrat-provider-mine', providers: { openai: SHOUT } }
    await house.ok('plugins', 'add', writePlugin(house.root, plugin))
    const agent = await house.spawn('a', '--provider', 'openai')
    expect((await house.ok('send', agent, 'hi')).stdout).toBe('HI\n')
    await house.ok('plugins', 'uninstall', 'substrat-provider-mine')
    const { plugin: from } = (await house.ok('providers', 'openai', '--json')).json.providers[0]
    expect(from).toBe('substrat-provider-openai')
  })

  test('refuses a word that resembles an official name, because a stranger could own the package', async () => {
    const { exit, stderr } = await new House().run(['plugins', 'add', 'opnai'])
    expect([exit, stderr]).toEqual([
      3,
      expect.stringMatching(
        /no official plugin "opnai"; did you mean openai\? \(list the official ones: substrat plugins --core; .*substrat plugins install opnai\)/,
      ),
    ])
  })

  test('is refused in a tool of an agent', async () => {
    const house = House.ofProcesses()
    const tool = {
      name: 'shell',
      input: { command: `'${process.execPath}' '${RUN}' plugins add openai; echo $?` },
    }
    const scenario = house.scenario('s.json', { tools: [tool] }, { say: 'Done.' })
    await house.spawn('a', '-o', scenario, '--allow', 'shell')
    await house.ok('send', 'a', 'go')
    expect((await house.ok('log', 'a', '--json')).stdout).toContain('may not install a plugin')
  })
})

test.for([
  ['plugins:remove', 'x'],
  ['plugins', 'unlink', 'x'],
])('%s is uninstall, as with oclif', async (words) => {
  expect(await new House().run(words)).toMatchObject({
    exit: 2,
    stderr: 'substrat: the plugin x is not installed (list the installed ones: substrat plugins)\n',
  })
})
