/** Plugins that npm installs: upgrades, the user's npm settings, kills, and a registry that does not answer. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { House } from '../support/cli.js'
import { type Package, pack, serveRegistry } from '../support/npm.js'
import { listOnly, modelProvider, writePlugin } from '../support/plugin.js'
import { waitFor } from '../support/wait.js'

const says = (text: string): string =>
  modelProvider(`yield { type: 'text', text: '${text}' }; yield { type: 'stop', reason: 'end' }`)
const NAME = 'substrat-provider-shout'

let house: House
beforeEach(() => {
  house = new House()
})

/** Packs the plugin, whose provider says its version. */
async function packed(version: string, change: object = {}): Promise<Package> {
  const parent = path.join(house.root, `made-${version}`)
  const directory = writePlugin(parent, { name: NAME, version, providers: { shout: says(version) } })
  const file = path.join(directory, 'package.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }))
  return { name: NAME, version, tarball: await pack(directory, parent) }
}

/** A package that another needs. */
async function dependency(name: string): Promise<Package> {
  const directory = path.join(house.root, 'made', name)
  mkdirSync(directory, { recursive: true })
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
  writeFileSync(path.join(directory, 'index.js'), `module.exports = '${name}'`)
  return { name, version: '1.0.0', tarball: await pack(directory, path.join(house.root, 'made')) }
}

async function reply(): Promise<string> {
  return (await house.ok('spawn', 'hi', '--provider', 'shout')).stdout
}

const data = (...parts: string[]): string =>
  path.join(house.env.XDG_DATA_HOME as string, 'substrat', ...parts)

async function silentRegistry(): Promise<{ url: string; asked: Promise<void> }> {
  let onAsked = (): void => undefined
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve
  })
  const server = createServer(() => onAsked())
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked }
}

describe('an upgrade', () => {
  test.for([
    ['is not a plugin', { oclif: undefined }, /has no section oclif/],
    ['needs a newer substrat', { engines: { substrat: '>=9' } }, /needs substrat >=9/],
    ['has lost its module', { substrat: { providers: { shout: './gone.js' } } }, /gone\.js is missing/],
    ['has lost its commands', { oclif: { commands: './gone' } }, /gone is missing/],
    ['needs a package that is nowhere', { dependencies: { 'no-such-package': '1' } }, /E404/],
  ] as const)('to a version that %s keeps the old one', async ([, change, why]) => {
    const packages = [await packed('1.0.0')]
    house.env.npm_config_registry = await serveRegistry(packages)
    await house.ok('plugins', 'install', NAME)
    packages[0] = await packed('2.0.0', change)
    for (const args of [['update'], ['install', NAME]]) {
      const { exit, stdout, stderr } = await house.run(['plugins', ...args])
      expect([exit, stdout, stderr]).toEqual([2, '', expect.stringMatching(why)])
      expect((await house.ok('plugins', '--json')).json.plugins).toMatchObject([{ version: '1.0.0' }])
      expect(await reply()).toBe('1.0.0\n')
    }
  })

  test('is what plugins update installs, and once more it has nothing to do', async () => {
    const packages = [await packed('1.0.0')]
    house.env.npm_config_registry = await serveRegistry(packages)
    await house.ok('plugins', 'install', NAME)
    packages[0] = await packed('2.0.0')
    expect((await house.ok('plugins', 'update')).stdout).toBe(`${NAME} is now 2.0.0\n`)
    expect(await reply()).toBe('2.0.0\n')
    expect((await house.ok('plugins', 'update')).stdout).toBe('nothing to update\n')
    await house.ok('plugins', 'uninstall', NAME)
    expect(readdirSync(data('providers'))).toEqual([])
  })

  test('that fails does not keep another plugin from its upgrade', async () => {
    const other = writePlugin(house.root, { name: 'other', providers: { other: says('1') } })
    const packages = [await packed('1.0.0')]
    house.env.npm_config_registry = await serveRegistry(packages)
    await house.ok('plugins', 'install', `file:${await pack(other, house.root)}`)
    await house.ok('plugins', 'install', NAME)
    packages[0] = await packed('2.0.0')
    writeFileSync(path.join(house.root, 'other-1.0.0.tgz'), 'no archive')
    const { exit, stdout, stderr } = await house.run(['plugins', 'update'])
    expect([exit, stdout, stderr]).toEqual([
      2,
      `${NAME} is now 2.0.0\n`,
      expect.stringContaining('other was not updated'),
    ])
  })
})

test('a plugin that another program installed beside the list is used, updated to a copy, and uninstalled', async () => {
  const beside = data('node_modules', NAME)
  const installBeside = (): void => {
    writePlugin(data('node_modules'), { name: NAME, version: '0.9.0', providers: { shout: says('0.9.0') } })
    listOnly(house, { name: NAME, type: 'user', tag: 'latest' })
  }
  installBeside()
  expect(await reply()).toBe('0.9.0\n')
  house.env.npm_config_registry = await serveRegistry([await packed('1.0.0')])
  expect((await house.ok('plugins', 'update')).stdout).toBe(`${NAME} is now 1.0.0\n`)
  expect(await reply()).toBe('1.0.0\n')
  expect(existsSync(beside)).toBe(false)
  installBeside()
  await house.ok('plugins', 'uninstall', NAME)
  expect(existsSync(beside)).toBe(false)
  expect((await house.ok('plugins', '--json')).json.plugins).toEqual([])
})

test('a directory whose plugin needs packages is packed, also by a pattern, and never becomes a symlink', async () => {
  const packages = [await dependency('needed'), await packed('1.0.0')]
  house.env.npm_config_registry = await serveRegistry(packages)
  const directory = writePlugin(house.root, { name: 'needy', providers: { needy: says('needy') } })
  const file = path.join(directory, 'package.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...manifest, files: ['*.js'], dependencies: { needed: '1' } }))
  await house.ok('plugins', 'install', directory)
  await house.ok('plugins', 'install', NAME)
  const { root } = (await house.ok('plugins', 'inspect', 'needy', '--json')).json
  expect(lstatSync(root).isDirectory()).toBe(true)
  expect(realpathSync(root)).toBe(root)
  expect(existsSync(path.join(root, '../needed/index.js'))).toBe(true)
  expect((await house.ok('spawn', 'hi', '--provider', 'needy')).stdout).toBe('needy\n')
})

test('settings of the user for npm change neither where it writes nor whether it does', async () => {
  house.env.npm_config_registry = await serveRegistry([await packed('1.0.0')])
  const prefix = path.join(house.root, 'prefix')
  const settings = ['global=true', 'save=false', `prefix=${prefix}`, 'dry-run=true', 'workspaces=true']
  const more = ['package-lock-only=true', 'install-strategy=linked', `pack-destination=${prefix}`]
  const file = path.join(house.root, 'npmrc')
  writeFileSync(file, [...settings, ...more, ''].join('\n'))
  house.env.npm_config_userconfig = file
  await house.ok('plugins', 'install', NAME)
  expect(await reply()).toBe('1.0.0\n')
  expect(existsSync(prefix)).toBe(false)
})

test('an argument after -- is a package, not an option of npm', async () => {
  const { exit, stderr } = await house.run(['plugins', 'install', '--', '--global'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('Invalid package name "--global"')])
})

test('npm ends with a killed plugins install, and the next one completes the work', async () => {
  const { url, asked } = await silentRegistry()
  const running = house.start(['plugins', 'install', NAME], { env: { npm_config_registry: url } })
  await asked
  const npm = processesIn(data('providers'))
  expect(npm.length).toBeGreaterThan(0)
  await running.kill('SIGKILL')
  await waitFor(() => processesIn(data('providers')).length === 0, 'the end of npm')
  house.env.npm_config_registry = await serveRegistry([await packed('1.0.0')])
  await house.ok('plugins', 'install', NAME)
  expect(readdirSync(data('providers'))).toHaveLength(1)
})

/** The processes whose working directory is below that one. */
function processesIn(directory: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && realpathSync(`/proc/${pid}/cwd`).startsWith(`${directory}/`)
    } catch {
      return false
    }
  })
}

test('a registry that does not answer is named while npm waits', async () => {
  const { url } = await silentRegistry()
  const running = house.start(['plugins', 'install', NAME], { env: { npm_config_registry: url } })
  await running.says('waiting for npm and its registry')
  expect((await running.kill('SIGINT')).exit).toBe(130)
})

// By default, npm would repeat for 71 s.
test('a registry that cannot be reached is an error soon', { timeout: 50_000 }, async () => {
  const { exit, stderr } = await house.run(['plugins', 'install', NAME], {
    env: { npm_config_registry: 'http://127.0.0.1:9/' },
  })
  expect([exit, stderr]).toEqual([2, expect.stringContaining('ECONNREFUSED')])
})
