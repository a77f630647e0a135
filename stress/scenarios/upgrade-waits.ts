/**
 * Commands in a home of format 1 with open waits: `a` waits for approval, `b` for an answer, and `kept` has the record of a
 * kept server. Its tokens expire, so it cannot be frozen: each preparation builds the program of format 1, which makes it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildProgramOfFormat1, hasProgramOfFormat1 } from '../support/format-1.mjs'
import type { AgentSeen, HomeView } from '../support/home-view.js'
import { type Broken, takenOnce } from '../support/promises.js'
import { calls, copyHomeIn, stateOf } from './homes.js'
import { effect, effectsOnce, exits } from './promises.js'
import type { Act, Scenario } from './scenario.js'
import type { Facts, Stage } from './stage.js'
import { upgradedOnce } from './upgrade.js'

const MS_MAX = 60_000
const WAITING = 5
const DONE = 'all done\n'

/** A plugin of format 1 whose turn keeps a server. */
const KEEPER = `
const session = ({ workspace }, host) => ({
  async *send(prompt, { signal }) {
    const command = { argv: ['/bin/sh', '-c', 'exec sleep 3600'], cwd: workspace }
    const server = await host.launchServer(command, { signal })
    await server.keep(Buffer.from('handle'))
    yield { type: 'done', reply: 'kept' }
  },
  suspend: async () => null,
  stop: async () => undefined,
})
export default {
  kind: 'agent',
  description: 'keeps a server',
  options: {},
  check: async () => undefined,
  create: async (settings, host) => session(settings, host),
  restore: async (state, settings, host) => session(settings, host),
  inspect: async () => ({ outcome: 'unknown' }),
}`

async function withWaitsOfFormat1(stage: Stage): Promise<Facts> {
  const scratch = mkdtempSync(join(tmpdir(), 'substrat-format-1-'))
  try {
    const { home, token } = homeOfFormat1(stage, scratch)
    await copyHomeIn(stage, home)
    // The program that made the home is gone, and a copy of the home has no living server.
    process.kill(-(stateOf(stage.home, 'kept').warm?.group.process_group as number), 'SIGKILL')
    return { token }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function homeOfFormat1(stage: Stage, scratch: string): { home: string; token: string } {
  const program = buildProgramOfFormat1(join(scratch, 'program'))
  const home = join(scratch, 'home')
  const plugin = join(scratch, 'keeper')
  mkdirSync(plugin)
  writeFileSync(join(plugin, 'index.js'), KEEPER)
  const substrat = { providers: { keeper: './index.js' } }
  const manifest = { name: 'keeper', version: '1.0.0', type: 'module', oclif: {}, substrat }
  writeFileSync(join(plugin, 'package.json'), JSON.stringify(manifest))
  const run = (argv: string[], exit = 0): string => {
    const env = { PATH: process.env.PATH, HOME: scratch, SUBSTRAT_HOME: home }
    const options = { cwd: stage.workspace, env, encoding: 'utf8', input: '', timeout: MS_MAX } as const
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...argv], options)
    if (status !== exit) throw new Error(`format 1: substrat ${argv.join(' ')} exited ${status}: ${stderr}`)
    return stdout
  }
  const park = (name: string, tool: ReturnType<typeof calls>): string => {
    run(['spawn', '--name', name, ...stage.script([tool, { say: 'all done' }])])
    return run(['send', name, '--key', 'k', 'go', '--json'], WAITING)
  }
  run(['plugins', 'link', plugin])
  park('a', calls(['shell', { command: effect() }]))
  const { wait } = JSON.parse(park('b', calls(['ask_operator', { question: 'Which?' }])))
  run(['spawn', '--name', 'kept', '--provider', 'keeper'])
  run(['send', 'kept', 'hello'])
  return { home, token: wait.token }
}

const APPROVE = ['approve', 'a']
const SUSPEND = ['suspend', 'kept']
const ANSWER: Act['argv'] = ({ token }) => [
  'resume',
  'b',
  '--token',
  token as string,
  '--input',
  'the blue one',
]

function scenario(name: string, argv: Scenario['argv'], next: Act['check']): Scenario {
  return {
    name: `${name}-format-1`,
    argv,
    programs: 'short',
    prepare: withWaitsOfFormat1,
    recoverExits: [WAITING],
    *checkAcknowledged({ stdout, stderr, isLater }, home) {
      yield* upgradedOnce(home)
      if (isLater === true) return
      if (stdout === DONE && argv === APPROVE) yield* decidedOnce(home, 'a')
      if (stdout === DONE && argv === ANSWER) yield* decidedOnce(home, 'b')
      if (/suspended/.test(stdout + stderr)) yield* hasNoServer(home.agent('kept'))
    },
    next: { argv, check: next },
    afterwards: [
      { argv: APPROVE, check: (ended) => exits(ended, [0, 13]) },
      { argv: ANSWER, check: (ended) => exits(ended, 0, DONE) },
      { argv: SUSPEND, check: (ended) => exits(ended, 0) },
      // The key from before the upgrade is still known.
      { argv: ['send', 'a', '--key', 'k', 'go'], check: (ended) => exits(ended, 0, DONE) },
    ],
    *finally(home) {
      yield* upgradedOnce(home)
      for (const each of ['a', 'b']) yield* decidedOnce(home, each)
      yield* effectsOnce(home, 'a')
      yield* hasNoServer(home.agent('kept'))
    },
  }
}

/** The turn ended with its reply, and its token from format 1 was used once. */
function* decidedOnce(home: HomeView, name: string): Broken {
  yield* takenOnce(home.agent(name), 'go', 'all done')
  const consumed = home.agent(name)?.records.filter(({ kind }) => kind === 'token.consumed') ?? []
  if (consumed.length !== 1) yield `one token of ${name} is consumed, not ${consumed.length}`
}

function* hasNoServer(agent: AgentSeen | undefined): Broken {
  if (agent?.state.warm !== undefined) yield 'the kept server is recorded as stopped'
  const stopped = agent?.records.filter(({ kind }) => kind === 'server.stopped') ?? []
  if (stopped.length !== 1) yield `the kept server is recorded as stopped once, not ${stopped.length} times`
}

/** A shallow clone cannot build the program of format 1. */
export const UPGRADE_WAITS: Scenario[] = hasProgramOfFormat1()
  ? [
      scenario('approve', APPROVE, (ended) => exits(ended, [0, 13])),
      scenario('resume', ANSWER, (ended) => exits(ended, 0, DONE)),
      scenario('suspend-server', SUSPEND, (ended) => exits(ended, 0)),
    ]
  : []
