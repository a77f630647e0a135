/**
 * Starts the commands that write, for a face. A command runs in its own session and process group: neither a signal to the
 * face, nor its death, ends the command, and what it has acknowledged to the disk stays.
 *
 * Nothing here is state: another process can read everything that a command did from the home. A command whose face died finds
 * its output pipe closed, which ends no turn (src/console/stdio.ts of substrat).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { checkArguments } from './arguments.js'
import { type Core, commandOf, type FaceActor, type Place } from './core.js'
import { type Coded, FaceError } from './face-error.js'
import { openInput } from './input.js'
import { Output, type StreamLine } from './output.js'

/** The first result or error of a command. The result is durable; the command may then still run turns for mail. */
interface First {
  /** Undefined if the command ended without one. */
  result: unknown
  error: FaceError | undefined
}

export interface Ended {
  exit: number
  /** The JSON that the command printed besides the lines of `--stream`, one value each. */
  results: unknown[]
  /** The error that it printed, or CHILD_DIED. */
  error: FaceError | undefined
  /** The last line on stderr. */
  said: string | undefined
}

/** A command that was started. */
export interface Running {
  first: Promise<First>
  ended: Promise<Ended>
}

/** Callbacks for a command's progress. */
export interface Progress {
  durable(): void
  ended(error: Coded | undefined): void
}

export interface CommandOptions {
  /** The content of stdin. Without it, stdin is empty. */
  input?: string | undefined
  env?: Record<string, string>
  /** The one who acts. Default: that of the face. */
  actor?: FaceActor
  onLine?: (line: StreamLine) => void
  /** Closes the output after so many results. Only for a command that then ends by itself. */
  resultsMax?: number
  /** Closes the output once the client is gone. Only for a command that then ends by itself. */
  signal?: AbortSignal
}

interface Installed {
  /** The command line of substrat. */
  command: string[]
  home: string
  /** Variables that they need for the home. */
  environment?: Record<string, string> | undefined
  /** The value of SUBSTRAT_ACTOR for a command of this actor. */
  sign: (actor: FaceActor, words: string[]) => string
  /** The advice after a command that ended without a result. */
  whenDied?: string
}

/** The code of a command that ended without a result. Repeating it with the same key is safe. */
export const CHILD_DIED = 'CHILD_DIED'

/** Agents run one turn at a time each, so more commands than this would only wait. */
const COMMANDS_MAX = 128
const STDERR_BYTES_MAX = 64 * 1024
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const noop = (): void => undefined

export class Commands {
  private readonly running = new Set<ChildProcess>()
  private readonly watchers = new Set<(line: StreamLine) => void>()
  onEnd: () => void = noop
  /** Whom the face serves. */
  actor: FaceActor | undefined
  /** A command for an agent begins, or for none. */
  onStart: (agentId: string | undefined) => Progress = () => ({ durable: noop, ended: noop })

  constructor(private readonly installed: Installed) {}

  /** The password of the home is in no environment but that of its commands. */
  static at(place: Place, core: () => Core): Commands {
    const { home, access } = place
    const password = access.passwordOf(home)
    const environment = password === undefined ? undefined : { PGPASSWORD: password }
    const sign: Installed['sign'] = (actor, words) => core().signedActor(home, actor, words)
    return new Commands({ command: commandOf(place), home, environment, sign })
  }

  /** The same commands, for another one that the face serves. */
  as(actor: FaceActor): Commands {
    return Object.create(this, { actor: { value: actor } }) as Commands
  }

  get count(): number {
    return this.running.size
  }

  /** Receives the lines of all commands. Returns the function that ends it. */
  watch(onLine: (line: StreamLine) => void): () => void {
    this.watchers.add(onLine)
    return () => void this.watchers.delete(onLine)
  }

  start(args: string[], options: CommandOptions = {}): Running {
    const { onLine, resultsMax = Number.POSITIVE_INFINITY, signal } = options
    if (this.running.size >= COMMANDS_MAX)
      throw new FaceError(
        'SERVER_BUSY',
        `${COMMANDS_MAX} commands of this server already run`,
        'repeat this later',
      )
    const child = this.spawn(args, options)
    this.running.add(child)
    const progress = this.onStart(args.find((word) => UUID.test(word)))
    let settle: (first: First) => void = noop
    const first = new Promise<First>((resolve) => {
      settle = resolve
    })
    let results = 0
    const output = new Output(
      (line) => {
        if (line.seq !== undefined) progress.durable()
        for (const watch of this.watchers) watch(line)
        onLine?.(line)
      },
      (result) => {
        progress.durable()
        results += 1
        if (results >= resultsMax) child.stdout?.destroy()
        const error = errorIn(result)
        settle({ result: error === undefined ? result : undefined, error })
      },
    )
    signal?.addEventListener('abort', () => child.stdout?.destroy(), { once: true })
    child.stdout?.setEncoding('utf8').on('data', (text: string) => output.add(text))
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_BYTES_MAX)
    })
    const ended = new Promise<Ended>((resolve) => {
      const end = (exit: number, why: string): void => {
        this.running.delete(child)
        const ended = { ...this.endOf(output.end(), exit, why), said: lastLine(stderr) }
        progress.ended(ended.error)
        settle({ result: undefined, error: ended.error })
        resolve(ended)
        this.onEnd()
      }
      child.once('error', (error) => end(1, error.message))
      child.once('close', (code, signal) =>
        end(code ?? 1, lastLine(stderr) ?? `ended by ${signal ?? `status ${code}`}`),
      )
    })
    return { first, ended }
  }

  /** Waits for the first result of the command. Throws its error. */
  async result<T>(args: string[], options?: CommandOptions): Promise<T> {
    const { result, error } = await this.start(args, options).first
    if (error !== undefined) throw error
    return result as T
  }

  /** Runs the command to its end. Throws its error. */
  async finish(args: string[], options?: CommandOptions): Promise<Ended> {
    const ended = await this.start(args, options).ended
    if (ended.error !== undefined) throw ended.error
    return ended
  }

  private spawn(args: string[], { input, env = {}, actor = this.actor }: CommandOptions): ChildProcess {
    checkArguments(args)
    const { command, home, environment = {}, sign } = this.installed
    const acts = actor === undefined ? {} : { SUBSTRAT_ACTOR: sign(actor, args) }
    const stdin = input === undefined ? undefined : openInput(input)
    const [program = '', ...words] = command
    try {
      return spawn(program, [...words, ...args], {
        stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        // A session of its own: signals of the terminal reach only the face.
        detached: true,
        env: { ...process.env, ...environment, ...env, ...acts, SUBSTRAT_HOME: home },
      })
    } finally {
      if (stdin !== undefined) closeSync(stdin)
    }
  }

  private endOf(printed: unknown[], exit: number, why: string): Omit<Ended, 'said'> {
    const results = printed.filter((result) => errorIn(result) === undefined)
    const failed = printed.map(errorIn).find((error) => error !== undefined)
    if (failed !== undefined || exit === 0 || results.length > 0) return { exit, results, error: failed }
    const { whenDied = 'look at what it has done, then repeat it, with its key if it has one' } =
      this.installed
    const error = new FaceError(CHILD_DIED, `the command ended without a result: ${why}`, whenDied)
    return { exit, results, error }
  }
}

function errorIn(printed: unknown): FaceError | undefined {
  const { error } = Object(printed) as { error?: Partial<Coded> }
  if (Object.keys(Object(printed)).length !== 1 || typeof error?.code !== 'string') return undefined
  const { code, message, hint, ...facts } = error
  return new FaceError(code, String(message), hint ?? null, facts)
}

function lastLine(text: string): string | undefined {
  const [last = ''] = text.trim().split('\n').slice(-1)
  return last.replace(/^substrat: /, '') || undefined
}
