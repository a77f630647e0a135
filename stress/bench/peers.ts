/** A turn with a model: substrat and the common agent programs, against the same loopback model. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { claudeCode } from '../real/claude-code.js'
import { codex } from '../real/codex.js'
import { install } from '../real/install.js'
import { opencode } from '../real/opencode.js'
import { pi } from '../real/pi.js'
import { placeIn } from '../real/place.js'
import type { Place, RealProgram } from '../real/program.js'
import { Lab } from '../support/lab.js'
import { LoopbackModel, providerFlags } from '../support/model.js'
import { type Subject, sampleInTurn } from './measure.js'
import { fewRounds, type Run } from './run.js'
import { type Row, ratio, skippedRow } from './table.js'

export interface Peer<P = Pick<RealProgram, 'name' | 'packages' | 'executable' | 'configure' | 'bare'>> {
  program: P
  /** A turn that continues a conversation; `first` is the stdout of the first turn. */
  continueArgv(first: string): string[]
}

export const AGENT_PROGRAMS: Peer<RealProgram>[] = [
  {
    program: codex,
    continueArgv: (first) => [
      'exec',
      '--json',
      '--skip-git-repo-check',
      'resume',
      fieldIn(first, 'thread_id'),
      'hello',
    ],
  },
  {
    program: claudeCode,
    continueArgv: (first) => [
      '-p',
      '--output-format',
      'json',
      '--resume',
      fieldIn(first, 'session_id'),
      'hello',
    ],
  },
]

const PEERS: Peer[] = [
  ...AGENT_PROGRAMS,
  {
    program: opencode,
    continueArgv: () => ['run', '--format', 'json', '-m', 'loop/m', '--continue', 'hello'],
  },
  { program: pi, continueArgv: () => ['-p', '--provider', 'loop', '--model', 'm', '--continue', 'hello'] },
]
const CODEX = { atMost: 0.3 }

/** Uses a separate lab: the linked plugin would slow the start of the other subjects. */
export async function modelRows(run: Run, withPeers: boolean): Promise<Row[]> {
  const lab = Lab.open()
  const model = await LoopbackModel.serve(lab, 'stress/bench/model-main.ts', [])
  try {
    await lab.warm()
    const home = lab.newHome()
    const flags = await providerFlags(lab, home, 'openai', model.url)
    // One agent for each sample: a peer's conversation is short too when it is compared.
    for (const name of ['a', 'b']) {
      await lab.do(home, 'spawn', '--name', name, ...flags)
      for (const _ of [1, 2]) await lab.do(home, 'send', name, 'hello')
    }
    const node: Subject = { name: 'node', home, argv: ['-e', '0'] }
    const [send, sendBeside] = ['a', 'b'].map((name) => ({
      name: `send ${name}`,
      home,
      argv: [lab.cli, 'send', name, 'hello'],
    })) as [Subject, Subject]
    const alone = sampleInTurn(lab, [node, send], run.rounds)
    const ours = 'send through provider-openai'
    const rows = [ratio(`${ours} / node -e 0`, alone.wallMs(send), alone.wallMs(node), 'ms')]
    if (!withPeers) return [...rows, skippedRow(`${ours} / codex exec resume`, 'asked for by --peers', CODEX)]
    const peers: Subject[] = []
    for (const peer of PEERS) {
      const target = peer.program === codex ? CODEX : {}
      const what = `${ours} / ${peer.program.name}, going on`
      try {
        peers.push((await afterFirstTurn(lab, home, model.url, peer)).subject)
      } catch (error) {
        rows.push(skippedRow(what, (error as Error).message.split('\n')[0] as string, target))
      }
    }
    const beside = sampleInTurn(lab, [sendBeside, ...peers], fewRounds(run))
    for (const peer of peers) {
      const what = `${ours} / ${peer.name}`
      const target = peer.name === ofCodex() ? CODEX : {}
      rows.push(ratio(what, beside.wallMs(sendBeside), beside.wallMs(peer), 'ms', target))
    }
    return rows
  } finally {
    model.stop()
    lab.close()
  }
}

/** A program after its first turn, about to continue. */
export async function afterFirstTurn(
  lab: Lab,
  home: string,
  modelUrl: string,
  { program, continueArgv: again }: Peer,
): Promise<{ subject: Subject; place: Place }> {
  const executable = await install(program)
  const place = placeIn(lab, modelUrl, executable)
  const env = program.configure(place)
  const [, ...first] = program.bare?.argv(place, 'hello') ?? []
  const said = start(lab, home, executable, first, env)
  if (said.status !== 0)
    throw new Error(`${program.name} exited ${said.status}: ${said.stderr.slice(0, 200)}`)
  const argv = again(said.stdout)
  const name = `${program.name} ${argv[0]}${resumeWord(argv)}`
  return { subject: { name, home, program: executable, argv, env }, place }
}

function start(
  lab: Lab,
  home: string,
  program: string,
  argv: string[],
  env: Record<string, string>,
): SpawnSyncReturns<string> {
  return spawnSync(program, argv, {
    cwd: lab.workspace,
    env: { ...lab.environment(home), ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  })
}

function ofCodex(): string {
  return 'codex exec resume'
}

function resumeWord(argv: string[]): string {
  const word = argv.find((each) => /^(--)?(resume|continue)$/.test(each))
  return word === undefined ? '' : ` ${word}`
}

/** A field of the JSON that a program printed. */
function fieldIn(output: string, field: string): string {
  const value = new RegExp(`"${field}":"([^"]+)"`).exec(output)?.[1]
  if (value === undefined) throw new Error(`no ${field} in the output of the first turn`)
  return value
}
