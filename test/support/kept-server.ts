/** Agents whose program has a server that substrat keeps: OpenCode's plugin, and a stand-in that speaks HTTP. */
import { readFileSync, statSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { afterAll } from 'vitest'
import { processGroup } from '../../src/host/identity.js'
import type { SessionRecord } from '../../src/session/records.js'
import { House, type Running } from './cli.js'
import { environment, processesWith } from './processes.js'

const REPOSITORY = path.join(import.meta.dirname, '../..')
const PLUGIN = path.join(REPOSITORY, 'plugins/provider-opencode')
const STAND_IN = path.join(REPOSITORY, 'test/plugins/opencode/opencode.cjs')

/** How long the plugin waits for answers that should come at once. */
const LIMITS = ['RELEASE_MS_MAX', 'HEALTH_MS_MAX', 'ABORT_MS_MAX', 'SURE_EXIT_MS_MAX'] as const
type Limit = (typeof LIMITS)[number]
/** A limit that expires in each test that meets it, so it need not be long. */
const SHORT: Partial<Record<Limit, string>> = { SURE_EXIT_MS_MAX: '20' }

/** The plugin in which only one limit, or none, expires. */
const PLUGINS = new Map<Limit | undefined, string>()
for (const met of [undefined, ...LIMITS]) PLUGINS.set(met, await pluginWith(met))

const houses: ServerHouse[] = []

// A failed test must leave no server either.
afterAll(() => {
  for (const pid of houses.flatMap((house) => house.running())) process.kill(pid, 'SIGKILL')
})

export class ServerHouse extends House {
  /** The shell command of the next agents, given that of the stand-in. */
  wrapped: (command: string) => string = (command) => command

  /**
   * `met` is the limit that the test expects to expire. The other limits are long, so that a slow machine does not
   * reach them.
   */
  constructor(env: Record<string, string> = {}, met?: Limit) {
    super(env)
    this.plugin('opencode', PLUGINS.get(met) as string)
    houses.push(this)
  }

  /** Spawns an agent and runs its first turn; returns its uuid. */
  async agent(name: string, ...habits: string[]): Promise<string> {
    const { stderr } = await this.ok('spawn', ...this.flags(name, habits), 'hi')
    return stderr.split('\n').find((line) => /^[0-9a-f-]{36}$/.test(line)) as string
  }

  /** Starts its first turn. */
  begin(name: string, prompt: string, ...habits: string[]): Running {
    return this.start(['spawn', ...this.flags(name, habits), prompt])
  }

  store(name: string): string {
    return path.join(this.root, `store-${name}`)
  }

  /** All processes of this home, except this one. */
  running(): number[] {
    return processesWith(`SUBSTRAT_HOME=${this.home}`)
  }

  /** The running servers: the leaders of their groups. */
  servers(): number[] {
    return this.running().filter((pid) => processGroup(pid) === pid && serverOf(pid) !== undefined)
  }

  /** The server of one agent. */
  server(id: string): number | undefined {
    return this.servers().find((pid) => environment(pid).includes(`SUBSTRAT_AGENT=${id}`))
  }

  kept(id: string): Extract<SessionRecord, { kind: 'server.kept' }>[] {
    return this.records(id).filter((record) => record.kind === 'server.kept')
  }

  /** Makes its last use look that long ago. */
  age(id: string, ms: number): void {
    const file = path.join(this.home, 'servers', id)
    const at = statSync(file).mtimeMs - ms
    utimesSync(file, at / 1000, at / 1000)
  }

  private flags(name: string, habits: string[]): string[] {
    const words = [process.execPath, STAND_IN, this.store(name), ...habits]
    const command = words.map((word) => `'${word}'`).join(' ')
    return [
      '--name',
      name,
      '--provider',
      'opencode',
      '--allow',
      'tree',
      '--option',
      `command=${this.wrapped(command)}`,
    ]
  }
}

function serverOf(pid: number): string | undefined {
  return environment(pid).find((entry) => entry.startsWith('SUBSTRAT_SERVER='))
}

async function pluginWith(met: Limit | undefined): Promise<string> {
  const limits = LIMITS.filter((limit) => limit !== met || SHORT[limit] !== undefined)
  const missing = new Set(limits)
  const withoutLimits = (text: string): string =>
    limits.reduce((source, limit) => {
      const value = (limit === met ? SHORT[limit] : undefined) ?? '3_600_000'
      const without = source.replace(new RegExp(`\\bconst ${limit} = .+`), `const ${limit} = ${value}`)
      if (without !== source) missing.delete(limit)
      return without
    }, text)
  const { outputFiles } = await build({
    stdin: { contents: `module.exports = require('./src/index.ts').default`, resolveDir: PLUGIN },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'cjs',
    define: { USER_AGENT: '"test"' },
    plugins: [
      {
        name: 'without-limits',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\.ts$/ }, ({ path: file }) => ({
            contents: withoutLimits(readFileSync(file, 'utf8')),
            loader: 'ts',
          })),
      },
    ],
  })
  if (missing.size > 0) throw new Error(`the plugin has no ${[...missing].join(', ')}`)
  return outputFiles[0]?.text as string
}
