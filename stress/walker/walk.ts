/** Lets a command fail, and follows its advice as a person would who knows nothing else. */
import { execFileSync } from 'node:child_process'
import type { EventEmitter } from 'node:events'
import { type ErrorCode, EXIT_STATUS } from '../../src/errors.js'
import { House } from '../../test/support/cli.js'
import { waitFor } from '../../test/support/wait.js'
import { alternativesIn, type Step } from './advice.js'
import type { ObservedProgram } from './program.js'

/**
 * In arguments and in `env`, `ID` is the id of the agent `a`, and `$name` the content of the file `name` of the workspace.
 */
export interface History {
  title: string
  newHouse?(): House
  prepare?(house: House): Promise<unknown> | unknown
  /** The command that fails, and its stdin. */
  args: string[]
  stdin?: string | Buffer
  env?: Record<string, string>
  /** Starts the failing command as a process, in a line of the shell in which it is "$@". */
  under?: string
  /** The failing command gets the signal once it handles it and `when` is true. */
  signal?: { name: NodeJS.Signals; when(house: House): boolean }
  code: ErrorCode
  /** Acts as another command while the failing one runs. */
  during?(house: House): Promise<unknown>
  /** Acts as time and other processes before the person reads the error. */
  meanwhile?(house: House): Promise<unknown> | unknown
  /** Follows the part of the advice that has no command. The advice is in `told`. */
  byHand?(house: House, told: string): Promise<unknown> | unknown
  /** The arguments that a person types to follow advice without a command. Default: the same again. */
  corrected?: string[]
  /** The environment of the corrected command. */
  correctedEnv?: Record<string, string>
  /** The person or agent that decides, in the words of the hint. */
  decider?: string
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

/** The commands of oclif's plugins use the real process. */
const AS_PROCESS = 'exec "$@"'
const STEPS_MAX = 3
const DECISIONS = new Set([5, 6, 13])
const DECIDERS = /substrat (approve|deny|answer|resume|ungate|cancel|recover|inbox|show) /
const PLACEHOLDERS: Record<string, string> = {
  ...{ NAME: 'other', NUMBER: '50', AGENT: 'a', DIR: '.', FILE: 'file', PROVIDER: 'scripted' },
}

interface Failure {
  exit: number
  stdout: string
  stderr: string
  hint: string | undefined
  pairs: Walk['pairs']
}

type Command = Pick<History, 'args' | 'env' | 'stdin' | 'signal'> & { under?: string }

export class Walker {
  private messages = 0

  constructor(private readonly program: ObservedProgram) {}

  /** Follows each alternative of the hint in a house of its own. */
  async walk(history: History): Promise<Walk> {
    const { house, failure } = await this.fail(history)
    const { pairs, hint, exit, stderr } = failure
    const walked = (deadEnd: string | undefined, steps = 0): Walk => ({ pairs, deadEnd, steps })
    if (pairs.length === 0) return walked(`the program exits ${exit}, without a known error: ${stderr}`)
    if (pairs.at(-1)?.code !== history.code) return walked(`it is ${pairs.at(-1)?.code}: ${stderr}`)
    if (exit !== EXIT_STATUS[history.code]) return walked(`it exits ${exit}: ${stderr}`)
    if (hint === undefined) return walked(`no hint: ${stderr}`)
    const alternatives = alternativesIn(hint)
    if (alternatives.length === 0)
      return walked(await this.withoutCommand(history, house, { hint, stderr }), 1)
    let steps = 0
    for (const index of alternatives.keys()) {
      const own = index === 0 ? { house, failure } : await this.fail(history)
      // Its hint has paths and ids of its own.
      const alternative = alternativesIn(own.failure.hint ?? '')[index] ?? []
      await history.byHand?.(own.house, own.failure.stderr)
      const { why, count } = await this.follow(history, own.house, alternative, STEPS_MAX)
      steps += count
      const twice = why ?? doneTwice(own.house)
      if (twice !== undefined) return walked(`${hint} -> ${JSON.stringify(alternative)}: ${twice}`, steps)
    }
    return walked(undefined, steps)
  }

  /** The hint is words: it names who decides, or what a person does. Then the command succeeds. */
  private async withoutCommand(
    history: History,
    house: House,
    { hint, stderr: said }: { hint: string; stderr: string },
  ): Promise<string | undefined> {
    const { decider, byHand, corrected, correctedEnv } = history
    if (decider !== undefined) return hint.includes(decider) ? undefined : `${hint} does not name ${decider}`
    if (byHand === undefined && corrected === undefined && correctedEnv === undefined)
      return `no command in: ${hint}`
    await byHand?.(house, said)
    const env = { ...history.env, ...correctedEnv }
    const { exit, stderr } = await this.run(house, {
      ...plain(history),
      args: corrected ?? history.args,
      env,
    })
    return exit === 0 ? doneTwice(house) : `corrected, it says: ${stderr}`
  }

  private async fail(history: History): Promise<{ house: House; failure: Failure }> {
    const house = history.newHouse?.() ?? new House()
    await history.prepare?.(house)
    const beside = history.during?.(house)
    const failure = await this.run(house, history)
    await beside
    await history.meanwhile?.(house)
    return { house, failure }
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
      if (step.kind === 'shell') {
        execFileSync('/bin/sh', ['-c', step.line], { cwd: house.workspace, timeout: 60_000 })
        continue
      }
      const args = step.kind === 'again' ? again(history, step.args) : this.filled(history, step.args)
      const { exit, stderr, hint } = await this.take(house, step, { ...plain(history), args })
      if (exit === 0 || (DECISIONS.has(exit) && DECIDERS.test(stderr))) continue
      const told = `${args.join(' ')} exits ${exit}: ${stderr.trim()}`
      const next = hint === undefined || exit === 2 ? undefined : alternativesIn(hint)[0]
      if (next === undefined) return { why: told, count }
      const after = await this.follow({ ...history, args }, house, next, left - count)
      return { count: count + after.count, ...(after.why && { why: `${told} -> ${after.why}` }) }
    }
    return { count }
  }

  private async take(house: House, step: Step, command: Command): Promise<Failure> {
    if (step.kind !== 'command') return this.run(house, command)
    const first = await this.run(house, { ...command, env: { ...command.env, ...step.env } })
    if (step.into === undefined || first.exit !== 0) return first
    return this.run(house, { ...command, args: this.filled({}, step.into), stdin: first.stdout })
  }

  private filled({ fill = {} }: Pick<History, 'fill'>, args: string[]): string[] {
    return args.map((word) =>
      word === '…' ? `message ${++this.messages}` : (fill[word] ?? PLACEHOLDERS[word] ?? word),
    )
  }

  private async run(
    house: House,
    { args, env: own = {}, stdin = '', under, signal }: Command,
  ): Promise<Failure> {
    const env: Record<string, string> = { ...house.env }
    for (const [name, value] of Object.entries(own)) env[name] = known(house, value, env)
    const world = {
      args: args.map((word) => known(house, word, env)),
      env,
      cwd: house.workspace,
      stdin,
      ...(signal && { onStart: (events: EventEmitter) => void raise(house, events, signal) }),
    }
    const { exit, stdout, stderr, created } = await this.program.run(
      world,
      under ?? (args[0] === 'plugins' ? AS_PROCESS : undefined),
    )
    // Other errors of the command were caught.
    const printed = created.filter(({ message }) => stderr.includes(message))
    const hint = printed.at(-1)?.hint
    if (hint !== undefined && !stderr.includes(hint)) throw new Error(`not printed: ${hint}\n${stderr}`)
    const pairs = printed.map((error) => ({ place: error.place, code: error.code, hint: error.hint ?? '' }))
    return { exit, stdout, stderr, hint, pairs }
  }
}

async function raise(
  house: House,
  events: EventEmitter,
  { name, when }: NonNullable<History['signal']>,
): Promise<void> {
  await waitFor(() => events.listenerCount(name) > 0 && when(house), name)
  events.emit(name, name)
}

/** A flag that the command has already gets the new value. */
function again({ args, corrected = args }: History, added: string[]): string[] {
  const words = [...corrected]
  for (const flag of added.filter((word) => word.startsWith('--'))) {
    const at = words.indexOf(flag)
    if (at >= 0) words.splice(at, 2)
  }
  return [...words, ...added]
}

/** A person repeats it without what made it fail. */
function plain({ args, env = {}, stdin = '' }: History): Command {
  return { args, env, stdin }
}

/** The id of `a`, also in a home with damage. */
export function firstId(house: House): string {
  const ids = house.ids()
  const isFirst = (id: string): boolean =>
    /"name":"a".*"parent":null/.test(house.log(id).split('\n', 1)[0] as string)
  return (ids.length === 1 ? ids[0] : ids.find(isFirst)) as string
}

function known(house: House, word: string, env: Record<string, string>): string {
  if (word === 'ID') return firstId(house)
  return word.replaceAll(/\$(\w+)/g, (_, name) => env[name] ?? (house.read(name) as string))
}

/** The programs of the agents append a line to `work` for each prompt. */
function doneTwice(house: House): string | undefined {
  const lines = (house.read('work') ?? '').split('\n').filter((line) => line !== '')
  const twice = lines.find((line, index) => lines.indexOf(line) !== index)
  return twice === undefined ? undefined : `the work was done twice: ${twice}`
}
