/** The package as a user gets it: packed, installed from its tarball, and run without anything else. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { npmGlobalConfig, pack, packBuilt } from '../support/npm.js'
import { modelProvider, writePlugin } from '../support/plugin.js'

const repository = path.join(import.meta.dirname, '..', '..')
const scratch = realpathSync(mkdtempSync(path.join(tmpdir(), 'substrat-package-')))
const prefix = path.join(scratch, 'prefix')
let installedBytes = 0
/** The output of npm while it installed. */
let said = ''
const installed = path.join(prefix, 'lib', 'node_modules', 'substrat')

beforeAll(async () => {
  const tarball = await pack(repository, scratch)
  mkdirSync(prefix)
  const config = `--globalconfig=${await npmGlobalConfig()}`
  const flags = ['--global', '--prefix', prefix, config, '--prefer-offline', '--no-audit', '--no-fund']
  const { all } = await execa('npm', ['install', ...flags, tarball], { cwd: scratch, all: true })
  said = all
  const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} kB`
  installedBytes = bytesIn(prefix)
  console.log(`npm pack: ${kilobytes(statSync(tarball).size)}; installed: ${kilobytes(installedBytes)}`)
})

afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** The house of a user with an empty home directory and no settings. */
class Newcomer extends House {
  override readonly home = path.join(this.root, 'user', '.substrat')
  protected override isOfProcesses = true

  constructor() {
    super()
    const { PATH = '', HOME = '' } = this.env
    mkdirSync(HOME)
    for (const name of Object.keys(this.env)) delete this.env[name]
    Object.assign(this.env, { PATH, HOME })
  }

  override command(...args: string[]): [string, ...string[]] {
    return [path.join(prefix, 'bin', 'substrat'), ...args]
  }
}

test('the package prints its version and its help, and creates no home for that', async () => {
  const person = new Newcomer()
  const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'))
  expect((await person.ok('--version')).stdout).toMatch(`substrat/${version} `)
  const { stdout } = await person.ok('help', '--all')
  for (const command of ['spawn', 'send', 'recover', 'plugins', 'autocomplete'])
    expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'))
  expect((await person.ok('help', 'send')).stdout).toContain('--if-busy')
  expect((await person.ok('send', '--help')).stdout).toContain('--if-busy')
  expect((await person.ok('plugins')).stdout).toBe(
    'no plugin is installed; those that come with substrat: substrat plugins --core\n',
  )
  const { providers } = (await person.ok('providers', '--json')).json
  expect(providers.map(({ name }: { name: string }) => name)).toEqual(ALL_PROVIDERS)
  expect(existsSync(person.home)).toBe(false)
})

test('an agent is spawned, gets a message, is killed in the middle of a turn and continues, with all files under ~/.substrat', async () => {
  const person = new Newcomer()
  const scenario = person.scenario('slow.json', { say: 'Hello.' }, { after_file: 'go', say: 'Forty-two.' })
  const id = await person.spawn('thinker', '--provider', 'scripted', '--option', scenario)
  expect((await person.ok('send', 'thinker', 'Hello?')).stdout).toBe('Hello.\n')

  const ask = ['send', 'thinker', 'What is the answer?', '--key', 'q1']
  const running = person.start(ask)
  await person.waitForRecord(id, 'model.requested', 2)
  expect((await running.kill('SIGKILL')).exit).toBe(137)
  expect((await person.ok('list', '--json')).json.agents[0].status).toBe('interrupted_startup')

  person.write('go', '')
  const goneOn = await person.ok(...ask)
  expect(goneOn.stdout).toBe('Forty-two.\n')
  expect(goneOn.stderr).toContain('continuing the interrupted turn')
  expect((await person.ok(...ask)).stdout).toBe('Forty-two.\n')
  expect(person.count(id, 'message.user')).toBe(2)
  expect(person.findings(true)).toEqual([])
  // The cache is the only other directory that it leaves.
  expect(readdirSync(path.dirname(person.home)).sort()).toEqual(['.cache', '.substrat'])
})

test('the package with every official plugin takes at most 10 MB, and 45 packages', () => {
  expect(installedBytes).toBeGreaterThan(1_000_000)
  expect(installedBytes, largestIn(prefix).join(', ')).toBeLessThan(10_000_000)
  expect(largestIn(prefix).length).toBeLessThan(45)
})

test('man finds the page of each command, the format and the contract', async () => {
  const pages = path.join(prefix, 'share', 'man')
  const man = (...words: string[]) => execa('man', ['-M', pages, '-w', ...words])
  // man joins the first two words.
  const { stdout } = await man('substrat', 'send', 'substrat-plugins-add', 'substrat', '5', 'substrat-format')
  expect(stdout.split('\n').map((file) => path.basename(file))).toEqual([
    'substrat-send.1',
    'substrat-plugins-add.1',
    'substrat.1',
    'substrat-format.5',
  ])
  const links = readdirSync(pages, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isSymbolicLink(),
  )
  expect(links.map(({ name }) => name).sort()).toEqual(
    readdirSync(path.join(installed, 'dist', 'man')).sort(),
  )
})

test('npm has nothing to say about its scripts', () => expect(said).not.toMatch(/script|warn/i))

const ALL_PROVIDERS = ['scripted', 'exec', 'acp', 'anthropic', 'claude-code', 'codex', 'openai', 'opencode']

test('each official provider, the server and the store need neither npm nor a network', async () => {
  const person = new Newcomer()
  // Only node: npm cannot be found.
  const bin = path.join(person.root, 'bin')
  mkdirSync(bin)
  symlinkSync(process.execPath, path.join(bin, 'node'))
  person.env.PATH = bin
  for (const name of ['openai', 'serve', 'postgres']) await person.ok('plugins', 'add', name)
  const { providers } = (await person.ok('providers', '--json')).json
  const kinds = providers.map(({ name, kind }: { name: string; kind: string }) => `${name} ${kind}`)
  expect(kinds.slice(2).sort()).toEqual([
    'acp agent',
    'anthropic model',
    'claude-code agent',
    'codex agent',
    'openai model',
    'opencode agent',
  ])
  expect((await person.ok('serve', '--help')).stdout).toContain('--listen')
  const home = { env: { SUBSTRAT_HOME: `postgres:///none?host=${person.root}` } }
  for (const words of [['store', 'init'], ['list']])
    expect(await person.run(words, home)).toMatchObject({
      exit: 11,
      stderr: expect.stringContaining('ENOENT'),
    })
})

test('the server answers from the package', async () => {
  const person = new Newcomer()
  await person.spawn('a', '--provider', 'scripted')
  const serving = person.start(['serve', '--listen', `unix:${person.root}/s.sock`])
  await serving.says('listening')
  const state = path.join(path.dirname(person.home), '.local/state/substrat')
  const [file = ''] = readdirSync(state)
  const token = readFileSync(path.join(state, file), 'utf8').trim()
  const flags = ['--silent', '--unix-socket', `${person.root}/s.sock`, '-H', `Authorization: Bearer ${token}`]
  const { stdout } = await execa('curl', [...flags, 'http://x/v1/agents'])
  expect(JSON.parse(stdout).agents).toMatchObject([{ name: 'a', status: 'idle' }])
  const page = await execa('curl', [...flags.slice(0, 3), 'http://x/'])
  expect(page.stdout).toContain('<title>')
  await serving.kill('SIGTERM')
})

test('the exec provider runs any program as an agent', async () => {
  const person = new Newcomer()
  await person.spawn('upper', '--provider', 'exec', '--option', 'command=tr a-z A-Z')
  expect((await person.ok('send', 'upper', 'hi')).stdout).toBe('HI\n')
})

test('the npm in PATH installs a plugin', async () => {
  const person = new Newcomer()
  person.env.npm_config_registry = 'http://127.0.0.1:9/'
  const source = modelProvider(`yield { type: 'text', text: 'yo' }; yield { type: 'stop', reason: 'end' }`)
  const plugin = writePlugin(person.root, { name: 'substrat-provider-yo', providers: { yo: source } })
  await person.ok('plugins', 'install', `file:${await pack(plugin, person.root)}`)
  expect((await person.ok('spawn', 'hi', '--provider', 'yo')).stdout).toBe('yo\n')
})

test('each plugin for an agent program is a package of its own with one file', async () => {
  const person = new Newcomer()
  const at = (file: string): string => path.join(repository, 'test', 'plugins', file)
  const store = path.join(person.root, 'store')
  const commands = {
    'claude-code': at('claude-code/stand-in.mjs'),
    codex: `${process.execPath} ${at('codex/stand-in.mjs')}`,
    acp: `${process.execPath} ${at('acp/agent.cjs')} ${store}`,
    opencode: `${process.execPath} ${at('opencode/opencode.cjs')} ${store}`,
  }
  const names = Object.keys(commands)
  const packages = names.map((name) => path.join(repository, 'plugins', `provider-${name}`))
  const tarballs = await packBuilt(packages, person.root)
  for (const tarball of tarballs) {
    // A link replaces the official plugin of the same name. An installation from a package is refused.
    const directory = tarball.replace(/\.tgz$/, '')
    mkdirSync(directory)
    await execa('tar', ['-xzf', tarball, '-C', directory, '--strip-components=1'])
    await person.ok('plugins', 'link', directory)
  }
  const { providers } = (await person.ok('providers', '--json')).json
  const kinds = providers.map(({ name, kind }: { name: string; kind: string }) => `${name}: ${kind}`)
  expect(kinds).toEqual(expect.arrayContaining(names.map((name) => `${name}: agent`)))

  // These tests must leave no process running.
  Object.assign(person.env, { SUBSTRAT_WARM_MAX: '0', CLAUDE_CONFIG_DIR: store, CODEX_HOME: store })
  mkdirSync(store)
  const turns = Object.entries(commands).map(async ([name, command]) => {
    const flags = ['--name', name, '--provider', name, '--option', `command=${command}`]
    return [name, (await person.ok('spawn', 'hi', ...flags)).stdout.trim()]
  })
  expect(Object.fromEntries(await Promise.all(turns))).toEqual({
    'claude-code': 'echo: hello []',
    codex: 'echo: hello there',
    acp: 'echo: hi',
    opencode: 'echo: hi',
  })
})

/** A project that depends on the package, with these files. */
function consumer(name: string, files: Record<string, string>): string {
  const root = path.join(scratch, name)
  mkdirSync(path.join(root, 'node_modules', '@types'), { recursive: true })
  symlinkSync(installed, path.join(root, 'node_modules', 'substrat'))
  const nodeTypes = path.join(repository, 'node_modules', '@types', 'node')
  symlinkSync(nodeTypes, path.join(root, 'node_modules', '@types', 'node'))
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ name, type: 'module' }))
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(root, file), text)
  return root
}

const CONFORMANCE = `
import { conformanceCases } from 'substrat/conformance'

const base = { description: 'copies', options: {}, check() {} }
const agent = {
  ...base,
  kind: 'agent',
  create: async (settings, host) => session(settings, host),
  restore: async (state, settings, host) => session(settings, host),
  inspect: async () => ({ outcome: 'unknown' }),
}
const model = {
  ...base,
  kind: 'model',
  async *complete(request) {
    yield { type: 'text', text: request.prompt }
    yield { type: 'stop', reason: 'end' }
  },
}
const mute = { ...model, async *complete() {} }

function session(settings, host) {
  let program
  return {
    async *send(prompt, { signal }) {
      program = await host.launch({ argv: ['cat'], cwd: settings.workspace }, { signal })
      program.stdin.end(prompt)
      yield { type: 'state', state: Buffer.from('kept') }
      let reply = ''
      for await (const piece of program.stdout) reply += piece
      yield { type: 'done', reply }
    },
    suspend: async () => Buffer.from('kept'),
    stop: async () => program?.kill(0),
  }
}

const settings = { workspace: process.cwd(), model: null, instructions: null, options: {} }
for (const [name, provider] of Object.entries({ agent, model, mute })) {
  for (const { title, run } of conformanceCases(provider, { settings, prompt: 'hi', expected: 'hi' }))
    console.log(name, await run().then(() => 'passes', ({ message }) => 'fails: ' + message), '|', title)
}
`

test("substrat/conformance runs on a project's own providers, and reports the one that does not conform", async () => {
  const root = consumer('runs-conformance', { 'conform.js': CONFORMANCE })
  const { stdout } = await execa(process.execPath, ['conform.js'], { cwd: root })
  const lines = stdout.split('\n')
  expect(lines.filter((line) => line.startsWith('agent passes')).length).toBeGreaterThanOrEqual(6)
  expect(lines.filter((line) => line.startsWith('model passes')).length).toBeGreaterThanOrEqual(3)
  expect(lines.filter((line) => line.includes('fails'))).toEqual([
    expect.stringMatching(
      /^mute fails: the provider breaks the contract: a response must end with its only stop/,
    ),
  ])
})

const TYPED = `
import { conformanceCases, type ConformanceFixture } from 'substrat/conformance'
import type { AgentSession, ModelProvider, Provider, ProviderSettings } from 'substrat/provider'
import { type HomeFixture, storeCases } from 'substrat/store-conformance'

const settings: ProviderSettings = { workspace: '/', model: null, instructions: null, options: {} }
const fixture: ConformanceFixture = { settings, prompt: 'hi', expected: 'HI' }

export const shout: ModelProvider = {
  kind: 'model',
  description: 'answers in capitals',
  options: {},
  async *complete(request, { signal }) {
    signal.throwIfAborted()
    yield { type: 'text', text: request.prompt.toUpperCase() }
    yield { type: 'stop', reason: 'end' }
  },
}
export const titles: string[] = conformanceCases(shout, fixture).map(({ title }) => title)
export const promises = (newHome: () => HomeFixture): string[] => storeCases(newHome).map(({ title }) => title)
export const state = (session: AgentSession): Promise<Uint8Array | null> => session.suspend()

// @ts-expect-error a provider of neither kind
export const neither: Provider = { description: 'x', options: {} }
`

test('the types of each export resolve in a strict project', async () => {
  const tsconfig = {
    compilerOptions: { strict: true, noEmit: true, skipLibCheck: false, module: 'nodenext', types: ['node'] },
    files: ['typed.ts'],
  }
  const root = consumer('typed', { 'typed.ts': TYPED, 'tsconfig.json': JSON.stringify(tsconfig) })
  const tsc = path.join(repository, 'node_modules', '.bin', 'tsc')
  const { stdout, exitCode } = await execa(tsc, [], { cwd: root, reject: false })
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 0 })
})

test('the package contains every file that its README and documents link to', () => {
  const pages = readdirSync(path.join(installed, 'docs')).filter((name) => name.endsWith('.md'))
  const documents = ['README.md', ...pages.map((name) => `docs/${name}`)]
  const missing = documents.flatMap((file) => {
    const text = readFileSync(path.join(installed, file), 'utf8')
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link as string)
    return links.filter((link) => !existsSync(path.join(installed, path.dirname(file), link)))
  })
  expect(missing).toEqual([])
})

/** The packages of the installation, the largest first. */
function largestIn(directory: string): string[] {
  const modules = path.join(directory, 'lib/node_modules/substrat/node_modules')
  const sizes = readdirSync(modules).map((name) => ({ name, bytes: bytesIn(path.join(modules, name)) }))
  const sorted = sizes.sort((a, b) => b.bytes - a.bytes)
  return sorted.slice(0, 20).map(({ name, bytes }) => `${name} ${bytes}`)
}

/** Only files count: a directory has 4 kB on some file systems and almost none on others. */
function bytesIn(directory: string): number {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isDirectory())
  return files.reduce((sum, entry) => sum + lstatSync(path.join(entry.parentPath, entry.name)).size, 0)
}

test("an agent program calls substrat's tools", async () => {
  const person = new Newcomer()
  const substrat = path.join(prefix, 'bin', 'substrat')
  const request = (id: number, method: string, params: object): string =>
    `'${JSON.stringify({ jsonrpc: '2.0', id, method, params })}'`
  const clientInfo = { name: 'shell', version: '1' }
  const lines = [
    request(0, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }),
    request(1, 'tools/call', { name: 'set_metadata', arguments: { metadata: { progress: 'half' } } }),
  ]
  const command = `printf '%s\\n' ${lines.join(' ')} | ${substrat} mcp | tail -1`
  await person.spawn('a', '--provider', 'exec', '--option', `command=${command}`, '--allow', 'tree')
  const { stdout } = await person.ok('send', 'a', 'go')
  expect(JSON.parse(stdout)).toMatchObject({
    id: 1,
    result: { content: [{ text: 'noted' }], isError: false },
  })
  expect((await person.ok('show', 'a', '--json')).json.metadata).toEqual({ progress: 'half' })
})
