/** `plugins add`: the files on disk after a kill, and the packages that it refuses. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readPlugins } from '../../src/command/plugin-code.js'
import { tarParts } from '../../src/files/tar.js'
import { type AddedPlugin, addOfficial, addPlugin } from '../../src/operations/add-plugin.js'
import { ProviderRegistry } from '../../src/provider/registry.js'
import { House } from '../support/cli.js'
import { clearFaults, failStep, recordOperations, unsyncedAfter } from '../support/operations.js'
import { modelProvider, writePlugin } from '../support/plugin.js'

const SHOUT = modelProvider(
  `yield { type: 'text', text: request.prompt.toUpperCase() }; yield { type: 'stop', reason: 'end' }`,
)
const ROOT = path.join(import.meta.dirname, '../..')
const NAME = 'substrat-provider-shout'

class Site {
  readonly house = new House()
  readonly data = path.join(this.house.root, 'data', 'substrat')
  readonly listPath = path.join(this.data, 'package.json')
  readonly copies = path.join(this.data, 'providers')
  readonly plugin = writePlugin(this.house.root, { name: NAME, providers: { shout: SHOUT } })

  get place(): Parameters<typeof addPlugin>[2] {
    return { listPath: this.listPath, copies: this.copies, root: ROOT, substratVersion: '0.1.0' }
  }

  async add(source = this.plugin, plugins: Parameters<typeof registryOf>[0] = []): Promise<AddedPlugin> {
    const added = await addPlugin(registryOf(plugins), source, this.place)
    if (added === undefined) throw new Error('it needs npm')
    return added
  }

  /** The providers that the next command would load, with the text of their modules. */
  loadable(): string[] {
    const { providers = [] } = readPlugins(this.listPath, ROOT)
    return providers.map(({ root }) => readFileSync(path.join(root, 'shout.js'), 'utf8'))
  }

  manifest(change: object): void {
    const file = path.join(this.plugin, 'package.json')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }))
  }
}

function registryOf(plugins: { name: string; provider: string }[]): ProviderRegistry {
  return new ProviderRegistry(() =>
    plugins.map(({ name, provider }) => ({
      name,
      version: '1.0.0',
      root: '/nowhere',
      pjson: { substrat: { providers: { [provider]: './x.js' } } },
    })),
  )
}

describe('a kill of plugins add', () => {
  test('at any step leaves no plugin or the whole one, and the same command completes the work', async () => {
    const reference = new Site()
    const steps = recordOperations()
    await reference.add()
    clearFaults()
    expect(reference.loadable()).toEqual([SHOUT])
    for (let step = 0; step < steps.length; step++) {
      const site = new Site()
      failStep(step, 'EIO', 'from then on')
      await site.add().catch(() => undefined)
      clearFaults()
      expect([[], [SHOUT]], `step ${step}`).toContainEqual(site.loadable())
      await site.add()
      expect(site.loadable(), `step ${step}`).toEqual([SHOUT])
    }
  })

  test('at any step while it replaces an older version leaves the old one or the new one', async () => {
    const replace = async (site: Site): Promise<void> => {
      writeFileSync(path.join(site.plugin, 'shout.js'), `// new\n${SHOUT}`)
      await site.add()
    }
    const reference = new Site()
    await reference.add()
    const steps = recordOperations()
    await replace(reference)
    clearFaults()
    for (let step = 0; step < steps.length; step++) {
      const site = new Site()
      await site.add()
      failStep(step, 'EIO', 'from then on')
      await replace(site).catch(() => undefined)
      clearFaults()
      expect([[SHOUT], [`// new\n${SHOUT}`]], `step ${step}`).toContainEqual(site.loadable())
      await replace(site)
      expect(site.loadable(), `step ${step}`).toEqual([`// new\n${SHOUT}`])
    }
  })

  test('leaves a directory that the next plugins add removes', async () => {
    const site = new Site()
    const left = path.join(site.copies, `${NAME}-0123456789abcdef.12-abc.tmp`)
    mkdirSync(left, { recursive: true })
    await site.add()
    expect(existsSync(left)).toBe(false)
    expect(readdirSync(site.copies)).toHaveLength(1)
  })
})

test('an installed plugin is durable when the command ends', async () => {
  const site = new Site()
  const steps = recordOperations()
  await site.add()
  clearFaults()
  const ofPlugin = unsyncedAfter(steps).filter((file) => file.startsWith(path.join(site.house.root, 'data')))
  // A lock needs no sync: after a power cut, no process holds it.
  expect(ofPlugin).toEqual([`${site.listPath}.lock`])
})

test('the copy that an older command may still load stays until the version after it', async () => {
  const site = new Site()
  const roots: string[] = []
  for (const version of ['1', '2', '3']) {
    writeFileSync(path.join(site.plugin, 'shout.js'), `// ${version}\n${SHOUT}`)
    roots.push((await site.add()).root)
  }
  expect(roots.map((root) => existsSync(root))).toEqual([false, true, true])
  expect((await site.add()).changed).toBe(false)
})

test('a tarball of npm is installed, and other plugins stay listed', async () => {
  const site = new Site()
  mkdirSync(site.data, { recursive: true })
  const other = { name: 'other', type: 'user', url: 'x' }
  writeFileSync(site.listPath, JSON.stringify({ dependencies: { other: '1' }, oclif: { plugins: [other] } }))
  const files = ['package.json', 'shout.js'].map((name) => ({
    path: `package/${name}`,
    bytes: readFileSync(path.join(site.plugin, name)),
  }))
  const tarball = path.join(site.house.root, 'shout.tgz')
  writeFileSync(tarball, gzipSync(Buffer.concat([...tarParts(files)])))
  rmSync(site.plugin, { recursive: true })
  const { root } = await site.add(tarball)
  const list = JSON.parse(readFileSync(site.listPath, 'utf8'))
  expect(list).toMatchObject({
    dependencies: { other: '1' },
    oclif: { plugins: [other, { name: NAME, type: 'link', root }] },
  })
  expect(readFileSync(path.join(root, 'shout.js'), 'utf8')).toBe(SHOUT)
})

test('a tarball of another program has entries for directories and for a long path', async () => {
  const site = new Site()
  const long = `${'d'.repeat(120)}/${'e'.repeat(120)}.js`
  mkdirSync(path.join(site.plugin, 'd'.repeat(120)))
  writeFileSync(path.join(site.plugin, long), '')
  const tarball = path.join(site.house.root, 'shout.tgz')
  spawnSync('tar', ['--format', 'pax', '-czf', tarball, path.basename(site.plugin)], { cwd: site.house.root })
  const { root } = await site.add(tarball)
  expect(readdirSync(root).sort()).toEqual(['d'.repeat(120), 'package.json', 'shout.js'])
  expect(readFileSync(path.join(root, long), 'utf8')).toBe('')
})

const providers = (name: string): object => ({
  substrat: JSON.parse(`{"providers":{${JSON.stringify(name)}:"./shout.js"}}`),
})

describe('refused is', () => {
  test.for([
    ['a package that brings nothing', { substrat: {} }, 'names no provider'],
    ['a package without oclif', { oclif: undefined }, 'has no section oclif'],
    [
      'a package for a newer substrat',
      { engines: { substrat: '>=9' } },
      'needs substrat >=9, and this is 0.1.0',
    ],
    ['providers that are no files', { substrat: { providers: { x: 1 } } }, 'does not map names to files'],
    ['a package without a version', { version: undefined }, 'has no version'],
    ['a package with the name of a path', { name: '../x' }, 'has no name'],
    ['a package whose scope is a directory above', { name: '@../x' }, 'has no name'],
    ['commands that are missing', { oclif: { commands: './gone' } }, 'its file gone is missing'],
    ['commands of a missing module', { oclif: { commands: { target: './gone.js' } } }, 'gone.js is missing'],
    ['a hook that is missing', { oclif: { hooks: { init: ['./shout', './gone'] } } }, 'gone is missing'],
    ['commands outside', { oclif: { commands: '../x' } }, '../x is missing'],
    ['a version with escape sequences', { version: '1.0.0\u001b[31m' }, 'has no version'],
    ['a provider with the name of a path', providers('../x'), 'one of its providers has the name "../x"'],
    [
      'a provider with the name of a field',
      providers('__proto__'),
      'one of its providers has the name "__proto__"',
    ],
    [
      'a module that is missing',
      { substrat: { providers: { shout: './dist/x.js' } } },
      'dist/x.js is missing',
    ],
    ['a module outside', { substrat: { providers: { shout: '../x.js' } } }, '../x.js is missing'],
    ['a pattern in files', { files: ['*.js'] }, 'is a pattern'],
    ['for this function, a package that needs others', { dependencies: { zod: '4' } }, 'it needs npm'],
    [
      'a provider of a built-in name',
      { substrat: { providers: { exec: './shout.js' } } },
      'has a provider of that',
    ],
  ] as const)('%s', async ([, change, why]) => {
    const site = new Site()
    site.manifest(change)
    await expect(site.add()).rejects.toThrow(why)
    expect(existsSync(site.copies)).toBe(false)
  })

  test('a link, a file that is not an archive, and an archive that leaves its directory', async () => {
    const site = new Site()
    symlinkSync('/etc/passwd', path.join(site.plugin, 'link'))
    site.manifest({ files: ['shout.js', 'link'] })
    await expect(site.add()).rejects.toThrow('link is not a regular file')
    const archive = (files: { path: string; bytes: Buffer }[]): string => {
      const file = path.join(site.house.root, 'x.tgz')
      writeFileSync(file, gzipSync(Buffer.concat([...tarParts(files)])))
      return file
    }
    const bytes = Buffer.from('{}')
    await expect(site.add(archive([{ path: 'package/../../x', bytes }]))).rejects.toThrow('is outside of it')
    await expect(site.add(archive([{ path: 'package/x', bytes }]))).rejects.toThrow('has no package.json')
    const both = ['a/package.json', 'a/p.js/q', 'a/p.js'].map((path) => ({ path, bytes }))
    await expect(site.add(archive(both))).rejects.toThrow('"p.js" is a file and a directory')
    const twice = ['a/package.json', 'b/package.json'].map((path) => ({ path, bytes }))
    await expect(site.add(archive(twice))).rejects.toThrow('"package.json" occurs twice')
    const plain = path.join(site.house.root, 'plain.tgz')
    writeFileSync(plain, 'hello')
    await expect(site.add(plain)).rejects.toThrow('not compressed by gzip')
    await expect(site.add(path.join(site.house.root, 'none'))).rejects.toThrow('there is no such file')
  })

  test('a provider of another plugin, a plugin of npm, and a list that cannot be read', async () => {
    const site = new Site()
    await expect(site.add(undefined, [{ name: 'rival', provider: 'shout' }])).rejects.toThrow(
      'the plugin rival provides it',
    )
    mkdirSync(site.data, { recursive: true })
    writeFileSync(site.listPath, JSON.stringify({ oclif: { plugins: [{ name: NAME, type: 'user' }] } }))
    await expect(site.add()).rejects.toThrow('already installed by substrat plugins')
    writeFileSync(site.listPath, '{')
    await expect(site.add()).rejects.toThrow('cannot be read')
    expect(readFileSync(site.listPath, 'utf8')).toBe('{')
  })
})

test('a plugin that only brings commands, a channel or a store is installed', async () => {
  for (const change of [
    { oclif: { commands: './shout' }, substrat: undefined },
    { substrat: { channels: { loop: './shout.js' } } },
    { substrat: { stores: { 'x+y': './shout.js' } } },
  ]) {
    const site = new Site()
    site.manifest(change)
    expect(await site.add()).toMatchObject({ plugin: NAME, providers: [], changed: true })
    expect(JSON.parse(readFileSync(site.listPath, 'utf8')).oclif.plugins).toHaveLength(1)
  }
})

test('a plugin for this version of substrat is installed', async () => {
  const site = new Site()
  site.manifest({ engines: { substrat: '>=0.1' } })
  expect((await site.add()).providers).toEqual(['shout'])
})

test('an official plugin leaves the list if an earlier version has copied it, and no other does', async () => {
  const site = new Site()
  const facts = {
    name: NAME,
    version: '1.0.0',
    root: site.plugin,
    pjson: JSON.parse(readFileSync(path.join(site.plugin, 'package.json'), 'utf8')),
  }
  await site.add()
  expect(site.loadable()).toEqual([SHOUT])
  expect(await addOfficial(facts, site.place)).toMatchObject({ root: site.plugin, changed: true })
  expect(site.loadable()).toEqual([])
  expect(await addOfficial(facts, site.place)).toMatchObject({ changed: false })
  const linked = { name: NAME, type: 'link', root: site.plugin }
  writeFileSync(site.listPath, JSON.stringify({ oclif: { plugins: [linked] } }))
  await expect(addOfficial(facts, site.place)).rejects.toThrow('already installed by substrat plugins')
  expect(site.loadable()).toEqual([SHOUT])
})
