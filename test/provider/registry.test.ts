import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { exec } from '../../src/provider/exec.js'
import { listProviders } from '../../src/provider/listing.js'
import { type PluginFacts, ProviderRegistry } from '../../src/provider/registry.js'
import { scripted } from '../../src/provider/scripted.js'
import { tempDirectory } from '../support/temp.js'

const GOOD = `export default {
  kind: 'model', description: 'a good one', options: { level: 'how good' },
  async *complete() { yield { type: 'stop', reason: 'end' } },
  check({ options }) { if (options.level === '0') throw Object.assign(new Error('not that low'), { failure: { type: 'authentication' } }) },
}`
let directory: string

beforeEach(() => {
  directory = tempDirectory()
})

/** Creates a plugin with these providers; the values are the sources of their modules. */
function plugin(name: string, sources: Record<string, string>, declared?: unknown): PluginFacts {
  const root = join(directory, name)
  mkdirSync(root)
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  for (const [provider, source] of Object.entries(sources))
    writeFileSync(join(root, `${provider}.js`), source)
  const providers = Object.fromEntries(Object.keys(sources).map((provider) => [provider, `./${provider}.js`]))
  return { name, version: '1.2.3', root, pjson: { substrat: declared ?? { providers } } }
}

function registry(...plugins: PluginFacts[]): ProviderRegistry {
  return new ProviderRegistry(() => plugins)
}

const settings = { workspace: '/', model: null, instructions: null, options: {} }

test('the built-in providers are available without reading the plugins', async () => {
  const alone = new ProviderRegistry(() => {
    throw new Error('the plugins were asked')
  })
  expect(await alone.load('exec')).toBe(exec)
  expect(await alone.load('scripted')).toBe(scripted)
})

test("a plugin's provider is imported when it is used, not earlier", async () => {
  const bad = plugin('plugin-bad', { bad: 'throw new Error("imported")' })
  const good = plugin('plugin-good', { good: GOOD })
  const both = registry(bad, good)
  expect(both.list().map(({ name }) => name)).toEqual(['scripted', 'exec', 'bad', 'good'])
  expect((await both.load('good')).description).toBe('a good one')
  await expect(both.load('bad')).rejects.toMatchObject({
    code: 'PROVIDER_MISCONFIGURED',
    message: 'the provider bad of plugin-bad cannot be used: it cannot be loaded: imported',
    hint: expect.stringContaining('plugin-bad'),
  })
})

test('an unknown name is not found, and the error lists the available providers', async () => {
  await expect(registry(plugin('p', { mine: GOOD })).load('other')).rejects.toMatchObject({
    code: 'PROVIDER_NOT_FOUND',
    hint: expect.stringMatching(/scripted, exec, mine/),
  })
})

test('if two plugins provide one name, neither is used and the error names both', async () => {
  const two = registry(plugin('plugin-a', { same: GOOD }), plugin('plugin-b', { same: GOOD }))
  const error = await two.load('same').catch((error: unknown) => error)
  expect(error).toMatchObject({ code: 'PROVIDER_MISCONFIGURED' })
  expect((error as Error).message).toMatch(/plugin-a.*plugin-b/)
})

test('a plugin cannot take the name of a built-in provider', async () => {
  expect(await registry(plugin('p', { exec: GOOD })).load('exec')).toBe(exec)
})

describe('a module whose default export is not a provider is refused', () => {
  const CASES: [string, string][] = [
    ['nothing', 'export const x = 1'],
    ['null', 'export default null'],
    ['a function', 'export default () => {}'],
    ['no kind', `export default { description: 'd', options: {} }`],
    ['an unknown kind', `export default { kind: 'oracle', description: 'd', options: {}, complete() {} }`],
    ['no description', `export default { kind: 'model', options: {}, complete() {} }`],
    ['no options', `export default { kind: 'model', description: 'd', complete() {} }`],
    ['null for options', `export default { kind: 'model', description: 'd', options: null, complete() {} }`],
    ['a model that cannot complete', `export default { kind: 'model', description: 'd', options: {} }`],
    [
      'an agent that cannot inspect',
      `export default { kind: 'agent', description: 'd', options: {}, create() {}, restore() {} }`,
    ],
  ]

  test.each(CASES)('%s', async (_, source) => {
    await expect(registry(plugin('p', { broken: source })).load('broken')).rejects.toMatchObject({
      code: 'PROVIDER_MISCONFIGURED',
      message: 'the provider broken of p cannot be used: its default export is not a provider',
    })
  })
})

test('an installed provider replaces an official one of its name, and only that', async () => {
  const mine = plugin('mine', { shout: GOOD })
  const official = plugin('official', { shout: GOOD, whisper: GOOD })
  const both = new ProviderRegistry(
    () => [mine],
    undefined,
    () => [official],
  )
  expect(both.list().map(({ name, plugin }) => [name, plugin])).toEqual([
    ['scripted', 'built-in'],
    ['exec', 'built-in'],
    ['shout', 'mine'],
    ['whisper', 'official'],
  ])
  await both.load('shout')
})

test('the remedy for a broken provider is the command that installed it', async () => {
  const [ours, theirs] = ['plugin-ours', 'plugin-theirs'].map((name) =>
    plugin(name, { [name]: 'throw new Error("cut off")' }),
  ) as [PluginFacts, PluginFacts]
  const both = new ProviderRegistry(
    () => [theirs],
    undefined,
    () => [ours],
  )
  await expect(both.load('plugin-ours')).rejects.toMatchObject({
    hint: 'install substrat again; in a clone: npm run build',
  })
  await expect(both.load('plugin-theirs')).rejects.toMatchObject({
    hint: 'install it again: substrat plugins install plugin-theirs',
  })
})

test('a module that is missing, or that throws a value that is not an error, is refused', async () => {
  await expect(registry(plugin('p', { odd: 'throw null' })).load('odd')).rejects.toMatchObject({
    code: 'PROVIDER_MISCONFIGURED',
  })
  const gone = plugin('q', {}, { providers: { gone: './gone.js' } })
  await expect(registry(gone).load('gone')).rejects.toMatchObject({ code: 'PROVIDER_MISCONFIGURED' })
})

test.each([undefined, null, 'x', 7, {}, { providers: null }, { providers: 'x' }, { providers: { a: 7 } }])(
  'a package.json that declares %j offers nothing, and breaks nothing',
  (declared) => {
    const facts = { name: 'p', version: '1', root: directory, pjson: { substrat: declared } }
    expect(registry(facts).list()).toHaveLength(2)
  },
)

describe('the check of settings', () => {
  test('refuses an unknown option, and lists the known ones', async () => {
    const all = registry(plugin('p', { good: GOOD }))
    await all.check('good', { ...settings, options: { level: '1' } })
    await expect(all.check('good', { ...settings, options: { lvl: '1' } })).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('level'),
      facts: { provider: 'good', option: 'lvl' },
    })
    await expect(all.check('good', { ...settings, options: { toString: '1' } })).rejects.toMatchObject({
      code: 'USAGE',
    })
  })

  test("gives the provider's reason against settings that cannot work", async () => {
    const all = registry(plugin('p', { good: GOOD }))
    await expect(all.check('good', { ...settings, options: { level: '0' } })).rejects.toMatchObject({
      code: 'PROVIDER_MISCONFIGURED',
      message: 'not that low',
      facts: { provider: 'good', type: 'authentication' },
    })
  })
})

test('the list has every provider, and the reason for each broken one', async () => {
  const listed = await listProviders(
    registry(
      plugin('plugin-good', { good: GOOD }),
      plugin('plugin-bad', { bad: 'throw new Error("imported")' }),
    ),
  )
  expect(listed.map(({ name, kind, plugin, version }) => [name, kind, plugin, version])).toEqual([
    ['scripted', 'model', 'built-in', null],
    ['exec', 'agent', 'built-in', null],
    ['good', 'model', 'plugin-good', '1.2.3'],
    ['bad', 'broken', 'plugin-bad', '1.2.3'],
  ])
  expect(listed[3]?.description).toContain('imported')
})
