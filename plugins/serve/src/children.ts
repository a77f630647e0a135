/**
 * Starts the commands that write. A child is an ordinary command in its own session and process group: Ctrl-C at the server, a
 * crash of the server or its end leave it running, and what it has acknowledged to the disk stays.
 *
 * The server keeps nothing about a child that another process could not read from the home. A child whose server died finds its
 * output pipe closed, which ends no turn (src/command/stdio.ts of substrat).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Coded, CommandError, Refusal } from './problem.js'

/** A line of `--stream`: a durable record of an agent, or live text. */
export interface StreamLine {
  agent: string
  kind: string
  seq?: number
  ts?: string
  run_id?: string
  key?: string
  continues?: string
  partial?: true
  content?: unknown
}

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
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024
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
    if (args.some((word) => word.includes('\0')))
      throw new Refusal('USAGE', 'a field has a NUL character', 'leave it out')
    const stdin = input === undefined ? undefined : fileWith(input)
    const [program = '', ...words] = this.command
    let child: ChildProcess
    try {
      child = spawn(program, [...words, ...args], {
        stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        // A session of its own: signals of the terminal reach only the server.
        detached: true,
        env: { ...process.env, ...env, SUBSTRAT_HOME: this.home },
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
        const ended = { ...output.end(exit, why), said: lastLine(stderr) }
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

/** Splits the output of a command into lines of `--stream` and other JSON. */
class Output {
  private rest = ''
  private tail = ''
  private readonly results: unknown[] = []

  constructor(
    private readonly onLine: (line: StreamLine) => void,
    private readonly onResult: (result: unknown) => void,
  ) {}

  add(text: string): void {
    if (this.rest.length + this.tail.length > OUTPUT_BYTES_MAX) return
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() ?? ''
    for (const line of lines) this.addLine(line)
  }

  private addLine(line: string): void {
    const value = this.tail === '' ? parsed(line) : undefined
    if (value === undefined) {
      this.tail += `${line}\n`
      // Only the last line of an object of several lines begins with its bracket.
      const whole = line.startsWith('}') ? parsed(this.tail) : undefined
      if (whole === undefined) return
      this.tail = ''
      this.addResult(whole)
    } else if (isStreamLine(value)) this.onLine(value)
    else this.addResult(value)
  }

  private addResult(result: unknown): void {
    this.results.push(result)
    this.onResult(result)
  }

  end(exit: number, why: string): Omit<Ended, 'said'> {
    if (this.rest !== '') this.addLine(this.rest)
    const failed = this.results.find(isError)
    const results = this.results.filter((result) => !isError(result))
    if (failed !== undefined) return { exit, results, error: codedOf(failed) }
    if (exit === 0 || results.length > 0) return { exit, results, error: undefined }
    const hint = 'look at what it has done, then repeat the request with the same Idempotency-Key'
    return {
      exit,
      results,
      error: new Refusal('CHILD_DIED', `the command ended without a result: ${why}`, hint),
    }
  }
}

function isStreamLine(value: unknown): value is StreamLine {
  const { agent, kind } = Object(value) as Partial<StreamLine>
  return typeof agent === 'string' && typeof kind === 'string'
}

function isError(value: unknown): value is { error: Coded } {
  const { error } = Object(value) as { error?: Partial<Coded> }
  return Object.keys(Object(value)).length === 1 && typeof error?.code === 'string'
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

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * A file without a name that holds the text. With a pipe, a server that dies in the middle would leave the command with the
 * beginning of a message, which it would take for all of it.
 */
function fileWith(text: string): number {
  const at = path.join(tmpdir(), `.substrat-serve-${randomUUID()}`)
  const fd = openSync(at, 'wx+', 0o600)
  try {
    unlinkSync(at)
    const bytes = Buffer.from(text)
    // A position keeps the file's own offset at 0, where the command begins to read.
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, done)
    return fd
  } catch (error) {
    closeSync(fd)
    throw error
  }
}
