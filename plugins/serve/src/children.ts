/**
 * Starts the commands that write. A child is an ordinary command in its own session and process group: Ctrl-C at the server, a
 * crash of the server or its end leave it running, and what it has acknowledged to the disk stays.
 *
 * The server keeps nothing about a child that another process could not read from the home. A child whose server died finds its
 * output pipe closed, which ends no turn (src/command/stdio.ts of substrat).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { checkArguments } from '../../shared/src/face/arguments.js'
import { openInput } from '../../shared/src/face/input.js'
import { Output, type StreamLine } from '../../shared/src/face/output.js'
import { type Coded, CommandError, Refusal } from './problem.js'

export interface Ended {
  exit: number
  /** The JSON that the command printed besides the lines of `--stream`, one value each. */
  results: unknown[]
  /** The error that it printed. */
  error: Coded | undefined
  /** The last line on stderr. */
  said: string | undefined
}

/** The first result of a command, which it prints once that is durable. It may then still run turns for mail. */
interface First {
  /** Undefined if the command ended without one. */
  result: unknown
  error: Coded | undefined
}

export interface Started {
  first: Promise<First>
  ended: Promise<Ended>
}

/** Receives what becomes of a command. */
export interface Progress {
  durable(): void
  ended(error: Coded | undefined): void
}

export interface ChildOptions {
  /** The content of stdin. Without it, stdin is empty. */
  input?: string | undefined
  env?: Record<string, string>
  onLine?: (line: StreamLine) => void
  /** Closes the output after so many results. Only for a command that then ends by itself. */
  resultsMax?: number
  /** Closes the output once the client is gone. Only for a command that then ends by itself. */
  signal?: AbortSignal
}

/** Agents run one turn at a time each, so more children than this would only wait. */
const CHILDREN_MAX = 128
const STDERR_BYTES_MAX = 64 * 1024
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const noop = (): void => undefined

export class Children {
  private readonly running = new Set<ChildProcess>()
  private readonly watchers = new Set<(line: StreamLine) => void>()
  onEnd: () => void = () => undefined
  /** A command for an agent begins, or for none. */
  onStart: (agentId: string | undefined) => Progress = () => ({ durable: noop, ended: noop })

  constructor(
    private readonly command: string[],
    private readonly home: string,
    /** Variables that they need for the home. */
    private readonly environment: Record<string, string> = {},
  ) {}

  get count(): number {
    return this.running.size
  }

  /** Receives the lines of all children. Returns the function that ends it. */
  watch(onLine: (line: StreamLine) => void): () => void {
    this.watchers.add(onLine)
    return () => void this.watchers.delete(onLine)
  }

  start(args: string[], options: ChildOptions = {}): Started {
    const { input, env = {}, onLine, resultsMax = Number.POSITIVE_INFINITY, signal } = options
    if (this.running.size >= CHILDREN_MAX)
      throw new Refusal(
        'SERVER_BUSY',
        `${CHILDREN_MAX} commands of this server already run`,
        'repeat the request later',
      )
    checkArguments(args)
    const stdin = input === undefined ? undefined : openInput(input)
    const [program = '', ...words] = this.command
    let child: ChildProcess
    try {
      child = spawn(program, [...words, ...args], {
        stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        // A session of its own: signals of the terminal reach only the server.
        detached: true,
        env: { ...process.env, ...this.environment, ...env, SUBSTRAT_HOME: this.home },
      })
    } finally {
      if (stdin !== undefined) closeSync(stdin)
    }
    this.running.add(child)
    const progress = this.onStart(args.find((word) => UUID.test(word)))
    let settle: (first: First) => void = () => undefined
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
        settle(isError(result) ? { result: undefined, error: codedOf(result) } : { result, error: undefined })
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
        const ended = { ...endOf(output.end(), exit, why), said: lastLine(stderr) }
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
  async result(args: string[], options?: ChildOptions): Promise<unknown> {
    const { result, error } = await this.start(args, options).first
    if (error !== undefined) throw error
    return result
  }

  /** Runs the command to its end. Throws its error. */
  async finish(args: string[], options?: ChildOptions): Promise<Ended> {
    const ended = await this.start(args, options).ended
    if (ended.error !== undefined) throw ended.error
    return ended
  }
}

function isError(value: unknown): value is { error: Coded } {
  const { error } = Object(value) as { error?: Partial<Coded> }
  return Object.keys(Object(value)).length === 1 && typeof error?.code === 'string'
}

function endOf(results: unknown[], exit: number, why: string): Omit<Ended, 'said'> {
  const failed = results.find(isError)
  const others = results.filter((result) => !isError(result))
  if (failed !== undefined) return { exit, results: others, error: codedOf(failed) }
  if (exit === 0 || others.length > 0) return { exit, results: others, error: undefined }
  const hint = 'look at what it has done, then repeat the request with the same Idempotency-Key'
  const error = new Refusal('CHILD_DIED', `the command ended without a result: ${why}`, hint)
  return { exit, results: others, error }
}

function codedOf({ error: { code, message, hint, ...facts } }: { error: Coded }): Coded {
  return new CommandError({ code, message, hint, facts })
}

function lastLine(text: string): string | undefined {
  return (
    text
      .trim()
      .split('\n')
      .at(-1)
      ?.replace(/^substrat: /, '') || undefined
  )
}
