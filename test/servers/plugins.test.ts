/** Provider plugins from outside this repository: installed, used, removed, and broken in every way. */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { pack, serveRegistry } from '../support/npm.js'
import { linkPlugin, modelProvider, writePlugin } from '../support/plugin.js'

const SHOUT = modelProvider(
  `yield { type: 'text', text: request.prompt.toUpperCase() }; yield { type: 'stop', reason: 'end' }`,
)

// Its state is the number of its turns. Its program runs behind the host's start barrier.
const COUNTER = `
export default {
  kind: 'agent',
  description: 'counts its turns',
  options: {},
  create: async (settings, host) => session(0, settings, host),
  restore: async (state, settings, host) => session(Number(Buffer.from(state).toString()), settings, host),
  inspect: async () => ({ outcome: 'unknown' }),
}

function session(turns, settings, host) {
  return {
    async *send(prompt, { signal }) {
      const program = await host.launch({ argv: ['cat'], cwd: settings.workspace }, { signal })
      program.stdin.end(prompt)
      let text = ''
      for await (const piece of program.stdout) text += piece
      await program.exited
      turns += 1
      yield { type: 'state', state: Buffer.from(String(turns)) }
      yield { type: 'done', reply: \`turn \${turns}: \${text}\` }
    },
    suspend: async () => Buffer.from(String(turns)),
    stop: async () => undefined,
  }
}
`

const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-plugins-'))
let tarball: string

beforeAll(async () => {
  tarball = await pack(writePlugin(scratch, PLUGIN), scratch)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const PLUGIN = { name: 'substrat-provider-test', providers: { shout: SHOUT, counter: COUNTER } }

// npm gets no registry but the test's: 127.0.0.1:9 refuses connections.
const NO_REGISTRY = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_fetch_retries: '0' }

async function providerNames(house: House): Promise<string[]> {
  const { json } = await house.ok('providers', '--json')
  const names: string[] = json.providers.map(
    ({ name, plugin }: { name: string; plugin: string }) => `${name} of ${plugin}`,
  )
  return names.filter((name) => !OFFICIAL.test(name))
}

const OFFICIAL = /^(\S+) of substrat-provider-\1$/

const BUILT_IN = ['scripted of built-in', 'exec of built-in']
const WITH_PLUGIN = [...BUILT_IN, `shout of ${PLUGIN.name}`, `counter of ${PLUGIN.name}`]

async function useBoth(house: House): Promise<void> {
  expect((await house.ok('spawn', 'hello', '--name', 'loud', '--provider', 'shout')).stdout).toBe('HELLO\n')
  expect((await house.ok('send', 'loud', 'and again')).stdout).toBe('AND AGAIN\n')
  await house.spawn('count', '--provider', 'counter')
  expect((await house.ok('send', 'count', 'a')).stdout).toBe('turn 1: a\n')
  expect((await house.ok('send', 'count', 'b')).stdout).toBe('turn 2: b\n')
}

test.for(['002', '277'])(
  'under umask %s an installed plugin is readable by its owner, writable only by its owner, and loaded',
  async (umask) => {
    const house = new House(NO_REGISTRY)
    const linked = writePlugin(house.root, { name: 'other', providers: { other: SHOUT } })
    const script = `umask ${umask}; exec "$@"`
    for (const args of [
      ['install', `file:${tarball}`],
      ['link', '--no-install', linked],
    ]) {
      const command = ['bash', '-c', script, 'bash', ...house.command('plugins', ...args)] as const
      expect(await house.launch([...command]).result).toMatchObject({ exit: 0 })
    }
    const data = path.join(house.env.XDG_DATA_HOME as string, 'substrat')
    const found = readdirSync(data, { recursive: true }).map((name) => path.join(data, String(name)))
    const modes = [data, ...found].map((each) => [each, lstatSync(each)] as const)
    for (const [at, stat] of modes.filter(([, each]) => !each.isSymbolicLink()))
      expect([at, stat.mode & 0o622]).toEqual([at, 0o600])
    expect(await providerNames(house)).toEqual([...WITH_PLUGIN, 'other of other'])
  },
)

test('a plugin from a tarball is listed, used by spawn and send, and leaves intact sessions when it is removed', async () => {
  const house = new House(NO_REGISTRY)

  await house.ok('plugins', 'install', `file:${tarball}`)
  expect((await house.ok('plugins')).stdout).toContain(`${PLUGIN.name} 1.0.0`)
  expect(await providerNames(house)).toEqual(WITH_PLUGIN)
  await useBoth(house)

  await house.ok('plugins', 'uninstall', PLUGIN.name)
  expect(await providerNames(house)).toEqual(BUILT_IN)
  const logs = house.logs()
  const withoutRefusals = (log: string): string => log.replace(/^.*"kind":"turn\.refused".*\n/gm, '')
  for (const agent of ['loud', 'count']) {
    const refused = await house.run(['send', agent, 'are you there?', '--json'])
    expect({ exit: refused.exit, code: refused.json.error.code }).toEqual({
      exit: 3,
      code: 'PROVIDER_NOT_FOUND',
    })
    expect(refused.stderr).toMatch(/there is no provider "\w+" .*substrat plugins add PATH/)
    await house.ok('show', agent)
    await house.ok('log', agent)
  }
  await house.ok('list')
  await house.ok('recover', '--all')
  // A refusal is all that a message leaves.
  const left = Object.entries(house.logs()).map(([id, log]) => [id, withoutRefusals(log)])
  expect(Object.fromEntries(left)).toEqual(logs)
  expect(house.findings(true)).toEqual([])

  await house.ok('plugins', 'install', `file:${tarball}`)
  expect((await house.ok('send', 'count', 'c')).stdout).toBe('turn 3: c\n')
  expect((await house.ok('send', 'loud', 'back')).stdout).toBe('BACK\n')
})

test('a plugin can be installed by its name from a registry', async () => {
  const house = new House()
  const registry = await serveRegistry([{ name: PLUGIN.name, version: '1.0.0', tarball }])
  house.env.npm_config_registry = registry

  await house.ok('plugins', 'install', PLUGIN.name)
  expect(await providerNames(house)).toEqual(WITH_PLUGIN)
  await useBoth(house)

  const { exit, stderr } = await house.run(['plugins', 'install', 'substrat-provider-nowhere'])
  expect({ exit, stderr }).toEqual({
    exit: 2,
    stderr: expect.stringMatching(/^substrat: substrat-provider-nowhere was not installed: E404[^\n]*\n$/),
  })
  expect(await providerNames(house)).toEqual(WITH_PLUGIN)
})

test('a linked plugin runs in its own directory, and its removal affects only its own agents', async () => {
  const house = new House(NO_REGISTRY)
  const directory = writePlugin(house.root, PLUGIN)
  await house.ok('plugins', 'link', '--no-install', directory)
  expect(await providerNames(house)).toEqual(WITH_PLUGIN)
  await useBoth(house)

  rmSync(directory, { recursive: true })
  await house.spawn('other', '--provider', 'scripted')
  const { stdout, stderr } = await house.ok('send', 'other', 'hi')
  expect(stdout).toBe('echo: hi\n')
  expect(stderr.split('\n')).toEqual([expect.stringContaining(`${directory}/package.json`), ''])
  expect((await house.run(['send', 'loud', 'hi'])).exit).toBe(3)
  await house.ok('plugins', 'uninstall', PLUGIN.name)
  expect(await providerNames(house)).toEqual(BUILT_IN)
})

const BROKEN: Record<string, [source: string, why: string]> = {
  thrower: [`throw new Error('no licence')`, 'it cannot be loaded: no licence'],
  garbled: ['export default {{', 'it cannot be loaded: '],
  needy: [`import 'no-such-package'`, `it cannot be loaded: Cannot find package 'no-such-package'`],
  nameless: ['export const provider = {}', 'its default export is not a provider'],
  halfway: [
    `export default { kind: 'agent', description: 'x', options: {} }`,
    'its default export is not a provider',
  ],
  sleeper: ['await new Promise(() => undefined)', 'it cannot be loaded: it did not load within 10 s'],
}

test('a provider that cannot be loaded is refused with the reason, and listed as broken', async () => {
  const house = new House()
  const providers = Object.fromEntries(Object.entries(BROKEN).map(([name, [source]]) => [name, source]))
  linkPlugin(house, { name: 'substrat-provider-broken', providers: { ...providers, shout: SHOUT } })

  const spawning = Object.entries(BROKEN).map(async ([name, [, why]]) => {
    const { exit, stdout, stderr } = await house.run(['spawn', 'hi', '--name', name, '--provider', name])
    expect({ exit, stdout }, stderr).toEqual({ exit: 8, stdout: '' })
    expect(stderr).toContain(`the provider ${name} of substrat-provider-broken cannot be used: ${why}`)
    expect(stderr.split('\n')).toHaveLength(2)
  })
  const listing = house.ok('providers', '--json')
  // A provider that hangs delays no command that does not use it.
  await house.spawn('other', '--provider', 'shout')
  expect((await house.ok('send', 'other', 'hi')).stdout).toBe('HI\n')
  await house.ok('recover', '--all')

  await Promise.all(spawning)
  expect((await house.ok('list', '--json')).json.agents).toHaveLength(1)
  const { providers: listed } = (await listing).json
  const kinds = Object.fromEntries(
    listed.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
  )
  expect(kinds).toMatchObject({ shout: 'model', scripted: 'model', exec: 'agent' })
  for (const name of Object.keys(BROKEN)) expect(kinds[name], name).toBe('broken')
})

test('a provider that breaks later fails only its own agents, whose sessions continue once it is repaired', async () => {
  const house = new House()
  const name = 'substrat-provider-test'
  linkPlugin(house, { name, providers: { shout: SHOUT } })
  const id = await house.spawn('loud', '--provider', 'shout')
  await house.spawn('other', '--provider', 'scripted')
  await house.ok('send', 'loud', 'one')

  for (const broken of [`throw new Error('no licence')`, 'export const provider = {}']) {
    linkPlugin(house, { name, providers: { shout: broken } })
    expect((await house.run(['send', 'loud', 'two'])).exit).toBe(8)
    // The cause is the same the second time, so it is recorded once.
    expect([house.count(id, 'run.started'), house.count(id, 'turn.refused')]).toEqual([1, 1])
    await house.ok('recover', '--all')
    await house.ok('send', 'other', 'hi')
  }
  linkPlugin(house, { name, providers: { shout: SHOUT } })
  expect((await house.ok('send', 'loud', 'two')).stdout).toBe('TWO\n')
  expect(house.findings(true)).toEqual([])
})

test('a second plugin with the same provider is refused with the command that makes room', async () => {
  const house = new House(NO_REGISTRY)
  const link = (name: string) =>
    house.run(['plugins', 'link', writePlugin(house.root, { name, providers: { shout: SHOUT } })])
  expect(await link('substrat-provider-one')).toMatchObject({ exit: 0 })
  const { exit, stderr } = await link('substrat-provider-two')
  expect([exit, stderr]).toEqual([
    2,
    'substrat: the provider shout cannot be installed: the plugin substrat-provider-one provides it (substrat plugins uninstall substrat-provider-one)\n',
  ])
})
