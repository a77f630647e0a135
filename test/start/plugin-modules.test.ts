import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDirectory } from '../support/temp.js'

const RUN = join(import.meta.dirname, '../../bin/run.js')

const PROVIDER = `
exports.kind = 'model'
exports.description = 'Says hello.'
exports.options = {}
exports.complete = async function* () {
  yield { type: 'text', text: 'hello' }
  yield { type: 'stop', reason: 'end' }
}`

test('the first turn with a provider saves the code of the bundle again', () => {
  const [user, plugin] = [tempDirectory(), tempDirectory()]
  const manifest = {
    name: 'tiny',
    version: '1.0.0',
    main: 'tiny.cjs',
    oclif: {},
    substrat: { providers: { tiny: './tiny.cjs' } },
  }
  writeFileSync(join(plugin, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(plugin, 'tiny.cjs'), PROVIDER)
  const data = join(user, 'data', 'substrat')
  mkdirSync(data, { recursive: true })
  const plugins = [{ name: 'tiny', type: 'link', root: plugin }]
  writeFileSync(join(data, 'package.json'), JSON.stringify({ oclif: { schema: 1, plugins } }))
  const cache = join(user, 'cache')
  const env = {
    PATH: process.env.PATH,
    HOME: user,
    XDG_DATA_HOME: join(user, 'data'),
    SUBSTRAT_CACHE_DIR: cache,
  }
  const run = (...argv: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...argv], { env, encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    return stdout.trim()
  }
  // The bundle's code for a send is the largest file.
  const largest = () => Math.max(...readdirSync(cache).map((name) => statSync(join(cache, name)).size))
  run('spawn', '--name', 'scripted', '--provider', 'scripted')
  for (const _ of [1, 2, 3]) run('send', 'scripted', 'hello')
  run('spawn', '--name', 'tiny', '--provider', 'tiny')
  const before = largest()
  expect(run('send', 'tiny', 'hello')).toBe('hello')
  expect(largest()).toBeGreaterThan(before)
  // The second turn replaces the provider's mark by code.
  run('send', 'tiny', 'hello')
  const inodes = () => readdirSync(cache).map((name) => statSync(join(cache, name)).ino)
  const saved = inodes()
  for (const agent of ['tiny', 'scripted']) run('send', agent, 'hello')
  expect(inodes()).toEqual(saved)
})
