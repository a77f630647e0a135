/**
 * Sends one signal in the middle of a turn. The turn is an `exec` program, or a model (`scripted`) in a tool call. The
 * target is substrat alone, the program alone, or all processes of the turn, including the watcher of the leash.
 *
 * Then the trial continues the turn as its user would and checks: exit statuses, one reply, work done once or reported,
 * no processes left.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { processesWith, watchersOf } from '../../test/support/processes.js'
import { waitFor } from '../../test/support/wait.js'
import { type Ended, type Lab, pathBeside } from '../support/lab.js'
import type { SignalEffects } from './effects.js'

export const TARGETS = ['substrat', 'program', 'all'] as const
export const TURNS = ['exec', 'tool'] as const

export interface Case {
  signal: SignalEffects
  target: (typeof TARGETS)[number]
  turn: (typeof TURNS)[number]
}

/** How the struck command must end: completed, interrupted, or dead. */
export type Expected = 'completed' | 'program_killed' | 'shutdown' | 'dead'

export interface Judged extends Case {
  expected: Expected
  exit: number | null
  violations: string[]
}

const KEY = ['--key', 'k']
const LEFT_MS_MAX = 15_000
/** Node reports death by a real-time signal as exit 0; a shell reports it correctly. */
const UNDER_SHELL = ['/bin/sh', '-c', '"$@"; exit $?', 'sh']

export function expectedOf({ signal, target, turn }: Case): Expected {
  if (target !== 'program' && signal.substrat === 'dies') return 'dead'
  if (target === 'all' && signal.substrat === 'asks') return 'shutdown'
  const isProgramHit = target !== 'substrat' && signal.program === 'dies'
  return isProgramHit && turn === 'exec' ? 'program_killed' : 'completed'
}

export async function strikeOnce(lab: Lab, it: Case): Promise<Judged> {
  const trial = new Trial(lab, it)
  await trial
    .run()
    .catch((error: Error) => trial.violations.push(`the lab goes through it: ${error.message}`))
  await trial.clearAway()
  return { ...it, expected: trial.expected, exit: trial.exit, violations: trial.violations }
}

class Trial {
  readonly violations: string[] = []
  readonly expected: Expected
  exit: number | null = null
  private readonly home: string
  private id = ''

  constructor(
    private readonly lab: Lab,
    private readonly it: Case,
  ) {
    this.home = lab.newHome()
    this.expected = expectedOf(it)
  }

  async run(): Promise<void> {
    await this.spawn()
    const { ended, child } = this.lab.start(this.home, ['send', 'a', 'go', ...KEY], { under: UNDER_SHELL })
    await waitFor(() => this.read('pid').endsWith('\n'), 'the program')
    const substrat = childOf(child.pid as number)
    this.strike(substrat, Number(this.read('pid')))
    if (this.expected === 'completed' || this.it.target === 'substrat') await this.release(child)
    const struck = await ended
    this.exit = struck.code
    this.must(struck, EXITS[this.expected](this.it.signal.number), 'the struck command')
    if (this.expected === 'dead') await this.nothingRuns()
    writeFileSync(this.file('go'), '')
    await this.goOn()
    await this.judge()
  }

  private async spawn(): Promise<void> {
    const [pid, go, work] = ['pid', 'go', 'work'].map((name) => this.file(name))
    const wait = `echo $$ > ${pid}; until [ -e ${go} ]; do sleep 0.05; done; echo whole`
    const provider =
      this.it.turn === 'exec'
        ? ['exec', '--option', `command=read -r line; echo "$line" >> ${work}; cat > /dev/null; ${wait}`]
        : ['scripted', '--option', `scenario=${this.scenario(`echo go >> ${work}; ${wait}`)}`]
    this.id = await this.lab.do(
      this.home,
      'spawn',
      '--name',
      'a',
      '--allow',
      'all',
      '--provider',
      ...provider,
    )
  }

  private scenario(command: string): string {
    const responses = [{ tools: [{ name: 'shell', input: { command } }] }, { say: 'whole' }]
    writeFileSync(this.file('json'), JSON.stringify({ responses }))
    return this.file('json')
  }

  private strike(substrat: number, program: number): void {
    const { target, signal } = this.it
    const all = [substrat, ...processesWith(`SUBSTRAT_AGENT=${this.id}`), ...watchersOf(program)]
    // For half of the signals substrat is the last target.
    if (signal.number % 2 === 0) all.reverse()
    const pids = { substrat: [substrat], program: [program], all }[target]
    for (const pid of pids) {
      try {
        process.kill(pid, signal.number)
      } catch (error) {
        // A child of the program that has ended by itself.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }

  /** substrat must have seen the signal before the program may end. Otherwise the turn would already be over. */
  private async release({ stderr }: { stderr: NodeJS.ReadableStream | null }): Promise<void> {
    if (this.it.signal.substrat === 'asks' && this.it.target !== 'program') {
      let said = ''
      stderr?.on('data', (piece: Buffer) => {
        said += piece.toString()
      })
      await waitFor(() => said.includes('letting the turn finish'), 'substrat to handle the signal')
    }
    if (this.expected !== 'dead') writeFileSync(this.file('go'), '')
  }

  /** Runs `recover --all`. If a tool's outcome is unknown, recovery leaves the decision to the operator each time. */
  private async goOn(): Promise<void> {
    const isUnknown = this.expected === 'dead' && this.it.turn === 'tool'
    for (let time = 0; time < (isUnknown ? 2 : 1); time++)
      this.must(await this.command('recover', '--all'), [isUnknown ? 6 : 0], 'recover --all')
    if (isUnknown) this.must(await this.command('resume', 'a'), [0], 'resume')
  }

  private async judge(): Promise<void> {
    for (const what of ['the same key', 'the same key again']) {
      const { code, stdout } = await this.command('send', 'a', 'go', ...KEY)
      this.expect(code === 0 && stdout === 'whole\n', `${what} has the complete reply: ${code} ${stdout}`)
    }
    // A recovery prompt is a message too, with different text.
    for (const [kind, text] of [
      ['message.user', 'go'],
      ['message.agent', 'whole'],
    ]) {
      const times = this.records().filter((record) => record.kind === kind && record.content === text).length
      this.expect(times === 1, `${kind} "${text}" is in the log once: ${times} times`)
    }
    const [first, ...others] = this.read('work').trim().split('\n')
    const isTold =
      this.it.turn === 'exec' && others.every((line) => line.startsWith('Your previous turn was'))
    this.expect(
      first === 'go' && (others.length === 0 || isTold),
      `the work is done once, or the interruption is reported: ${others}`,
    )
    await this.nothingRuns()
    this.must(await this.command('doctor', '--all'), [0], 'doctor --all')
  }

  private async nothingRuns(): Promise<void> {
    const leftProcesses = (): number[] => processesWith(`SUBSTRAT_AGENT=${this.id}`)
    await waitFor(() => leftProcesses().length === 0, 'the end of its processes', LEFT_MS_MAX).catch(() => {
      this.violations.push(`no process of the turn is left: ${leftProcesses()}`)
    })
  }

  async clearAway(): Promise<void> {
    if (this.id !== '')
      for (const pid of processesWith(`SUBSTRAT_AGENT=${this.id}`)) process.kill(pid, 'SIGKILL')
    this.lab.removeHome(this.home)
  }

  private command(...argv: string[]): Promise<Ended> {
    return this.lab.run(this.home, argv)
  }

  private must({ code, stderr }: Ended, exits: number[], what: string): void {
    this.expect(
      exits.includes(code ?? -1),
      `${what} ends with ${exits.join(' or ')}: ${code} ${stderr.slice(-300)}`,
    )
  }

  private expect(does: boolean, sentence: string): void {
    if (!does) this.violations.push(sentence)
  }

  private records(): { kind: string; content?: unknown }[] {
    const log = readFileSync(`${this.home}/agents/${this.id}/events.jsonl`, 'utf8')
    return log
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  }

  private file(name: string): string {
    return pathBeside(this.home, name)
  }

  private read(name: string): string {
    return existsSync(this.file(name)) ? readFileSync(this.file(name), 'utf8') : ''
  }
}

const EXITS: Record<Expected, (signal: number) => number[]> = {
  completed: () => [0],
  program_killed: () => [6],
  shutdown: (signal) => [128 + signal],
  dead: (signal) => [128 + signal],
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
}
