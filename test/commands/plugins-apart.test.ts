/** The commands for plugins beside plugins that hang, exit, print or are damaged. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { linkHooked, linkPlugin, listOnly, modelProvider, writePlugin } from '../support/plugin.js'

const SHOUT = modelProvider(`yield { type: 'text', text: 'HI' }; yield { type: 'stop', reason: 'end' }`)

describe.concurrent('a plugin whose init hook', () => {
  test.for([
    ['hangs', 'await new Promise(() => setInterval(() => undefined, 1000))'],
    ['ends the process', 'process.exit(0)'],
    ['throws', `throw new Error('no licence')`],
    ['prints', `console.log('hello')`],
  ])('%s can be listed and uninstalled', async ([, body]) => {
    const house = House.ofProcesses()
    linkHooked(house, body as string)
    expect((await house.ok('plugins', '--json')).json.plugins).toMatchObject([{ name: 'hooked' }])
    expect((await house.ok('plugins', 'uninstall', 'hooked')).stdout).toBe('hooked is uninstalled\n')
    await house.spawn('a', '--provider', 'scripted')
  })
})

test('a provider of a plugin that is not loaded is taken all the same', async () => {
  const house = House.ofProcesses()
  linkPlugin(house, { name: 'one', providers: { shout: SHOUT } })
  const { exit, stderr } = await house.run([
    'plugins',
    'add',
    writePlugin(house.root, { name: 'two', providers: { shout: SHOUT } }),
  ])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('the plugin one provides it')])
})

test.for([[null], ['name'], [{}], [{ name: 1, type: 'link' }], [{ name: 'x', type: 'link', root: 1 }]])(
  'a list with %j is named with the way back, and other commands run without plugins',
  async (entry) => {
    const house = new House()
    listOnly(house, ...(entry as unknown[]))
    const damaged = /the list of plugins \S+ cannot be read: its oclif.plugins is not a list of plugins/
    const { exit, stdout, stderr } = await house.run(['plugins'])
    expect([exit, stdout, stderr]).toEqual([2, '', expect.stringMatching(damaged)])
    for (const args of [['list'], ['help'], ['no-such-command']]) {
      const { stderr } = await house.run(args)
      expect(stderr).toMatch(damaged)
      expect(stderr).not.toContain('unexpected')
    }
    expect((await house.run(['doctor'])).stdout).toContain('list of plugins')
  },
)

test('a data directory that cannot be made is an error of the disk, and no matter for an official plugin', async () => {
  const house = new House()
  house.env.XDG_DATA_HOME = '/proc/none'
  expect((await house.ok('plugins', 'add', 'openai')).stdout).toContain('comes with substrat')
  const plugin = writePlugin(house.root, { name: 'one', providers: { shout: SHOUT } })
  const { exit, stderr } = await house.run(['plugins', 'add', plugin])
  expect([exit, stderr]).toEqual([11, expect.stringContaining('cannot mkdir /proc/none')])
})

describe('an official plugin', () => {
  const NAME = 'substrat-provider-openai'
  const listCopy = (house: House): void => {
    const root = path.join(
      house.env.XDG_DATA_HOME as string,
      'substrat/providers',
      `${NAME}-0123456789abcdef`,
    )
    mkdirSync(root, { recursive: true })
    const manifest = {
      name: NAME,
      version: '0.0.1',
      type: 'module',
      oclif: {},
      substrat: { providers: { openai: './old.js' } },
    }
    writeFileSync(path.join(root, 'package.json'), JSON.stringify(manifest))
    writeFileSync(path.join(root, 'old.js'), SHOUT)
    listOnly(house, { name: NAME, type: 'link', root })
  }

  test('that an earlier version has copied is not used, and leaves the list when it is added', async () => {
    const house = House.ofProcesses()
    listCopy(house)
    expect(await house.run(['spawn', '--provider', 'openai', '--model', 'm', 'hi'])).toMatchObject({
      exit: 8,
      stderr: expect.stringContaining('OPENAI_API_KEY'),
    })
    expect((await house.ok('plugins', '--json')).json.plugins).toMatchObject([
      { name: NAME, version: '0.1.0', from: 'substrat' },
    ])
    expect((await house.ok('doctor')).stderr).toBe('')
    await house.ok('plugins', 'add', 'openai')
    expect((await house.ok('plugins', '--json')).json.plugins).toEqual([])
  })

  test('is used in place of a link to a directory that is gone, without a warning', async () => {
    const house = House.ofProcesses()
    listOnly(house, { name: 'substrat-serve', type: 'link', root: path.join(house.root, 'gone') })
    expect((await house.ok('list')).stderr).toBe('')
    await house.ok('serve', '--help')
    await house.ok('plugins', 'add', 'serve')
    expect((await house.ok('plugins', '--json')).json.plugins).toEqual([])
  })

  test('is not installed from another package of its name', async () => {
    const house = new House()
    const plugin = writePlugin(house.root, { name: NAME, providers: { openai: SHOUT } })
    const { exit, stderr } = await house.run(['plugins', 'add', plugin])
    expect([exit, stderr]).toEqual([2, expect.stringMatching(/comes with substrat.*another name/)])
  })
})

test('help lists the commands of plugins', async () => {
  const house = House.ofProcesses()
  const root = path.join(house.root, 'greeter')
  mkdirSync(root)
  const commands = { strategy: 'explicit', target: './commands.js', identifier: 'COMMANDS' }
  writeFileSync(
    path.join(root, 'package.json'),
    JSON.stringify({ name: 'greeter', version: '1.0.0', type: 'module', oclif: { commands } }),
  )
  writeFileSync(
    path.join(root, 'commands.js'),
    `export const COMMANDS = { greet: class { static id = 'greet'; static summary = 'Greet a person.'; static run() {} } }`,
  )
  listOnly(house, { name: 'greeter', type: 'link', root })
  expect((await house.ok('help', '--all')).stdout).toMatch(/^OF PLUGINS\n +greet +Greet a person\.$/m)
})
