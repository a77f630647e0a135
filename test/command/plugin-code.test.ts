/** Which plugins our commands load without oclif. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readPlugins as read, type UserPlugins } from '../../src/command/plugin-code.js'
import { House } from '../support/cli.js'
import { modelProvider } from '../support/plugin.js'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'substrat-plugin-code-')))
})
afterEach(() => rmSync(root, { recursive: true }))

const REPOSITORY = path.join(import.meta.dirname, '../..')
const readPlugins = (list: string): UserPlugins => read(list, REPOSITORY)

const MANIFEST = {
  name: 'one',
  version: '1.2.3',
  oclif: {},
  substrat: { providers: { shout: './dist/shout.cjs' } },
}

/** Writes a package, and returns its directory. */
function write(at: string, manifest: object = MANIFEST): string {
  const directory = path.join(root, at)
  mkdirSync(directory, { recursive: true })
  writeFileSync(path.join(directory, 'package.json'), JSON.stringify(manifest))
  return directory
}

function list(...plugins: object[]): string {
  const file = path.join(root, 'data', 'package.json')
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ oclif: { schema: 1, plugins } }))
  return file
}

function linked(directory: string, name = 'one'): object {
  return { type: 'link', name, root: directory }
}

describe('readPlugins', () => {
  test('a linked package is loaded from its directory, an installed one from the list’s node_modules', () => {
    const other = { ...MANIFEST, name: '@scope/two' }
    const installed = write('data/node_modules/@scope/two', other)
    const directory = write('one')
    const { substrat } = MANIFEST
    expect(readPlugins(list(linked(directory), { type: 'user', name: '@scope/two' })).providers).toEqual([
      { name: 'one', version: '1.2.3', root: directory, pjson: { substrat } },
      { name: '@scope/two', version: '1.2.3', root: installed, pjson: { substrat } },
    ])
  })

  test('the directory of a linked package is the same in each form', () => {
    const directory = write('one')
    write('other/one')
    symlinkSync(path.join(root, 'other/one'), path.join(root, 'link'))
    const found = readPlugins(list(linked(directory)))
    for (const form of [`${directory}/`, `${directory}//.`, `${root}/link/../one`])
      expect(readPlugins(list(linked(form)))).toEqual(found)
  })

  test('its code includes the modules of all providers', () => {
    const { code } = readPlugins(list(linked(write('one'))))
    expect(code).toContain(path.join(root, 'one/dist/shout.cjs'))
  })

  test.each<[string, object]>([
    ['has hooks', { ...MANIFEST, oclif: { hooks: { init: './init' } } }],
    ['brings plugins', { ...MANIFEST, oclif: { plugins: ['three'] } }],
    ['has no oclif field', { ...MANIFEST, oclif: undefined }],
    ['has no version', { ...MANIFEST, version: undefined }],
    ['has another name', { ...MANIFEST, name: 'another' }],
  ])('oclif loads all plugins if one %s', (_, manifest) => {
    const two = linked(write('two', { ...MANIFEST, name: 'two' }), 'two')
    expect(readPlugins(list(two)).providers).toHaveLength(1)
    expect(readPlugins(list(two, linked(write('one', manifest)))).providers).toBeUndefined()
  })

  test('our commands need no oclif beside a plugin with commands, whose files are still its code', () => {
    const oclif = { commands: { strategy: 'explicit', target: './dist/index.cjs', identifier: 'COMMANDS' } }
    const { code, providers } = readPlugins(list(linked(write('one', { ...MANIFEST, oclif }))))
    expect(providers).toHaveLength(1)
    expect(code).toContain(path.join(root, 'one/dist/index.cjs'))
  })

  test('oclif loads all plugins if one is missing, listed twice, or installed as a link', () => {
    const one = linked(write('one'))
    symlinkSync(path.join(root, 'one'), path.join(path.dirname(write('data/node_modules/x')), 'one'))
    for (const other of [linked('/nowhere', 'gone'), one, { type: 'user', name: 'one' }])
      expect(readPlugins(list(one, other)).providers).toBeUndefined()
    expect(readPlugins(list({ type: 'user', name: 'one' })).providers).toBeUndefined()
  })
})

test('hooks of a plugin run before and after our commands, also beside a plugin that only provides', async () => {
  const house = House.ofProcesses()
  house.plugin(
    'shout',
    modelProvider(`yield { type: 'text', text: 'HI' }; yield { type: 'stop', reason: 'end' }`),
  )
  const hook = (name: string): string => `export default async ({ id }) => console.error('${name}', id)`
  const names = ['init', 'prerun', 'postrun', 'finally']
  const hooks = Object.fromEntries(names.map((name) => [name, `./${name}.js`]))
  const directory = write('hooked', { name: 'hooked', version: '1.0.0', type: 'module', oclif: { hooks } })
  for (const name of names) writeFileSync(path.join(directory, `${name}.js`), hook(name))
  const file = path.join(house.env.XDG_DATA_HOME as string, 'substrat/package.json')
  const plugins = [linked(path.join(house.root, 'shout'), 'shout'), linked(directory, 'hooked')]
  writeFileSync(file, JSON.stringify({ oclif: { schema: 1, plugins } }))

  const { stdout, stderr } = await house.ok('spawn', 'hi', '--name', 'a', '--provider', 'shout')
  expect(stdout).toBe('HI\n')
  expect(stderr.split('\n').filter((line) => !/^[0-9a-f-]{36}$/.test(line))).toEqual([
    'init spawn',
    expect.stringMatching(/^prerun/),
    expect.stringMatching(/^postrun/),
    'finally spawn',
    '',
  ])
})
