/** Runs one command as a real process that meets a kernel fault, and checks the result. */
import { audit, HomeView } from '../support/home-view.js'
import type { Ended, Lab } from '../support/lab.js'
import { viewOf } from './view.js'

export interface Experiment {
  name: string
  /** The reason if the experiment was skipped. Otherwise the number of cases, the exits, and the violations. */
  skipped?: string
  cases: number
  exits: Record<string, number>
  broken: string[]
}

type Commands = Record<'prepare' | 'command', string[]>

/** The message fills pages of its own in the log, and so does its answer. */
const MESSAGE = 'hello '.repeat(1000)
export const REPLY = `echo: ${MESSAGE}\n`
export const SEND: Commands = {
  prepare: ['spawn', '--name', 'a'],
  command: ['send', 'a', '--key', 'k', MESSAGE],
}
const ALLOWED = ['0', '11', '15']

export class Trials implements Experiment {
  cases = 0
  exits: Record<string, number> = {}
  broken: string[] = []

  /** Private, so that it is not part of the report. */
  readonly #lab: Lab

  constructor(
    readonly name: string,
    lab: Lab,
  ) {
    this.#lab = lab
  }

  skip(why: string): Experiment {
    return { ...this, skipped: why }
  }

  /** `told` is the end of the command that met the fault. The fault is gone by now. */
  async judge(what: string, home: string, told: Ended, { command }: Commands = SEND): Promise<void> {
    const code = String(told.code ?? told.signal)
    this.cases += 1
    this.exits[code] = (this.exits[code] ?? 0) + 1
    const note = (broken: string): void => void this.broken.push(`${this.name}, ${what}: ${broken}`)
    if (!ALLOWED.includes(code) && told.signal === null) note(`it exits ${code}: ${told.stderr.trim()}`)
    if (/\n {4}at /.test(told.stderr)) note(`it prints no stack: ${told.stderr.slice(0, 300)}`)
    // If Node itself has no descriptor left, it does not name the file.
    const isSaid = told.stderr.split('\n').some((line) => /^substrat: .*(\/|open a file).*\(.+\)$/.test(line))
    if ((code === '11' || code === '15') && !isSaid)
      note(`it says what failed, where, and what to run next: ${told.stderr.trim()}`)
    if (code === '0' && told.stdout !== REPLY) note('its output is the reply')
    for (const sentence of audit(home, false)) note(sentence)
    const next = await this.#lab.run(home, command)
    if (next.code !== 0 || next.stdout !== REPLY) note(`the next command continues: ${next.stderr.trim()}`)
    const recovered = await this.#lab.run(home, ['recover', '--all'])
    if (recovered.code !== 0) note(`recover --all succeeds: ${recovered.stderr.trim()}`)
    for (const sentence of audit(home, true)) note(sentence)
    const turns = viewOf(home).filter((line) => line.includes('"asked":["hello'))
    const isOnce =
      turns.length === 1 && /"replies":\["echo: hello[^"]*"\],"end":"run.completed"/.test(turns[0] ?? '')
    if (!isOnce) note(`the message is recorded once, answered once: ${turns.join('; ')}`)
  }

  /** Reading commands must succeed during the fault. */
  async read(what: string, home: string): Promise<void> {
    if (HomeView.read(home).agent('a') === undefined) return
    for (const argv of [['list'], ['show', 'a'], ['log', 'a'], ['tree']]) {
      const { code, stderr } = await this.#lab.run(home, argv)
      if (code !== 0)
        this.broken.push(`${this.name}, ${what}: ${argv[0]} still reads, not ${code}: ${stderr}`)
    }
  }
}
