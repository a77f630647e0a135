/** Lets a command fail, and follows its advice as a person would who knows nothing else. */
import type { ErrorCode } from '../../src/errors.js'
import type { House } from '../../test/support/cli.js'
import type { Program } from '../../test/support/in-process.js'
import { alternativesIn, type Step } from './advice.js'
import { takeCreated } from './program.js'

export interface History {
  title: string
  prepare?(house: House): Promise<unknown> | unknown
  /** The command that fails, and its stdin. */
  args: string[]
  stdin?: string
  env?: Record<string, string>
  code: ErrorCode
  /** The arguments that a person types to follow advice without a command. */
  corrected?: string[]
  /** For words in capitals in a hint. */
  fill?: Record<string, string>
  /** Runs the failed command again at the end: the advice has removed the obstacle. */
  isMended?: true
}

export interface Walk {
  pairs: { place: string; code: ErrorCode; hint: string }[]
  /** Undefined if each alternative led to success or a decision. */
  deadEnd: string | undefined
  steps: number
}

const STEPS_MAX = 3
const DECISIONS = new Set([5, 6, 13])
const DECIDERS = /substrat (approve|deny|answer|resume|ungate|cancel|recover|inbox|show) /
const PLACEHOLDERS: Record<string, string> = {
  ...{ NAME: 'other', NUMBER: '50', AGENT: 'a', DIR: '.', FILE: 'file', PROVIDER: 'scripted' },
}

interface Failure {
  exit: number
  stderr: string
  hint: string | undefined
  pairs: Walk['pairs']
}

export class Walker {
  private messages = 0

  constructor(
    private readonly program: Program,
    private readonly newHouse: () => House,
  ) {}

  /** Follows each alternative of the hint in a house of its own. */
  async walk(history: History): Promise<Walk> {
    const { house, failure } = await this.fail(history)
    const { pairs, hint, exit, stderr } = failure
    const walked = (deadEnd: string | undefined, steps = 0): Walk => ({ pairs, deadEnd, steps })
    if (pairs.length === 0) return walked(`the program exits ${exit}, without a known error: ${stderr}`)
    if (pairs.at(-1)?.code !== history.code) return walked(`it is ${pairs.at(-1)?.code}: ${stderr}`)
    if (hint === undefined) return walked(`no hint: ${stderr}`)
    const alternatives = alternativesIn(hint)
    if (alternatives.length === 0) {
      if (history.corrected === undefined) return walked(`no command in: ${hint}`)
      const { exit: after, stderr: told } = await this.run(history, house, history.corrected)
      return walked(after === 0 ? undefined : `corrected, it says: ${told}`, 1)
    }
    let steps = 0
    for (const alternative of alternatives) {
      const { house: own } = await this.fail(history)
      const { why, count } = await this.follow(history, own, alternative, STEPS_MAX)
      steps += count
      const twice = why ?? doneTwice(own)
      if (twice !== undefined) return walked(`${hint} -> ${JSON.stringify(alternative)}: ${twice}`, steps)
    }
    return walked(undefined, steps)
  }

  private async fail(history: History): Promise<{ house: House; failure: Failure }> {
    const house = this.newHouse()
    await history.prepare?.(house)
    return { house, failure: await this.run(history, house, history.args) }
  }

  private async follow(
    history: History,
    house: House,
    steps: Step[],
    left: number,
  ): Promise<{ why?: string; count: number }> {
    let count = 0
    for (const step of [...steps, ...(history.isMended ? [{ kind: 'again', args: [] } as Step] : [])]) {
      if (++count > left) return { why: `more than ${STEPS_MAX} steps`, count }
      const args = step.kind === 'again' ? [...history.args, ...step.args] : this.filled(history, step.args)
      const { exit, stderr, hint } = await this.run(history, house, args)
      if (exit === 0 || (DECISIONS.has(exit) && DECIDERS.test(stderr))) continue
      const told = `${args.join(' ')} exits ${exit}: ${stderr.trim()}`
      const next = hint === undefined || exit === 2 ? undefined : alternativesIn(hint)[0]
      if (next === undefined) return { why: told, count }
      const after = await this.follow({ ...history, args }, house, next, left - count)
      return { count: count + after.count, ...(after.why && { why: `${told} -> ${after.why}` }) }
    }
    return { count }
  }

  private filled({ fill = {} }: History, args: string[]): string[] {
    return args.map((word) =>
      word === '…' ? `message ${++this.messages}` : (fill[word] ?? PLACEHOLDERS[word] ?? word),
    )
  }

  private async run(history: History, house: House, args: string[]): Promise<Failure> {
    const { stdin = '' } = history
    const env = { ...house.env, ...history.env }
    // A terminated agent is known by its id only.
    const known = args.map((word) =>
      word === 'ID' ? (house.ids()[0] as string) : word === 'TOKEN' ? (house.read('token') as string) : word,
    )
    takeCreated()
    const { exit, stderr } = await this.program.run({ args: known, env, cwd: house.workspace, stdin })
    // Other errors of the command were caught.
    const printed = takeCreated().filter(({ error }) => stderr.includes(error.message))
    const hint = printed.at(-1)?.error.hint
    if (hint !== undefined && !stderr.includes(hint)) throw new Error(`not printed: ${hint}\n${stderr}`)
    const pairs = printed.map(({ place, error }) => ({ place, code: error.code, hint: hint ?? '' }))
    return { exit, stderr, hint, pairs }
  }
}

/** The programs of the agents append a line to `work` for each prompt. */
function doneTwice(house: House): string | undefined {
  const lines = (house.read('work') ?? '').split('\n').filter((line) => line !== '')
  const twice = lines.find((line, index) => lines.indexOf(line) !== index)
  return twice === undefined ? undefined : `the work was done twice: ${twice}`
}
