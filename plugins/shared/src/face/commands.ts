/**
 * Starts the commands that write, for a face. A command runs in its own session and process group: neither a signal to the
 * face, nor its death, ends the command.
 *
 * Nothing here is state: another process can read everything that a command did from the home. A command whose face died finds
 * its output pipe closed, which ends no turn (src/command/stdio.ts of substrat).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { checkArguments } from './arguments.js'
import { commandOf, type Place } from './core.js'
import { FaceError } from './face-error.js'
import { openInput } from './input.js'
import { Output, type StreamLine } from './output.js'

export interface Ended {
  /** The JSON that the command printed besides the lines of `--stream`, one value each. */
  results: unknown[]
  error: FaceError | undefined
}

/** A command that was started. */
export interface Running {
  /** Resolves with its first result or error. The result is durable; the command may then still run turns for mail. */
  first: Promise<{ result: unknown; error: FaceError | undefined }>
  ended: Promise<Ended>
}

export interface CommandOptions {
  /** The content of stdin. Without it, stdin is empty. */
  input?: string | undefined
  onLine?: (line: StreamLine) => void
}

/** The code of a command that ended without a result. Repeating it with the same key is safe. */
export const CHILD_DIED = 'CHILD_DIED'

const COMMANDS_MAX = 128
const STDERR_BYTES_MAX = 64 * 1024

export class Commands {
  private readonly running = new Set<ChildProcess>()

  constructor(private readonly place: Place) {}

  /** The password of the home, which is in no environment but that of its commands. */
  private get environment(): Record<string, string> {
    const password = this.place.access.passwordOf(this.place.home)
    return password === undefined ? {} : { PGPASSWORD: password }
  }

  start(args: string[], { input, onLine = () => undefined }: CommandOptions = {}): Running {
    if (this.running.size >= COMMANDS_MAX)
      throw new FaceError('BUSY', `${COMMANDS_MAX} commands of this process already run`, 'repeat this later')
    const child = this.spawn(args, input)
    this.running.add(child)
    let settle: (first: Awaited<Running['first']>) => void = () => undefined
    const first = new Promise<Awaited<Running['first']>>((resolve) => {
      settle = resolve
    })
    const output = new Output(onLine, (result) => {
      const error = errorIn(result)
      settle({ result: error === undefined ? result : undefined, error })
    })
    child.stdout?.setEncoding('utf8').on('data', (text: string) => output.add(text))
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_BYTES_MAX)
    })
    const ended = new Promise<Ended>((resolve) => {
      const end = (exit: number, why: string): void => {
        this.running.delete(child)
        const all = output.end()
        const results = all.filter((result) => errorIn(result) === undefined)
        const printed = all.map(errorIn).find((error) => error !== undefined)
        const isDead = printed === undefined && exit !== 0 && results.length === 0
        const error = isDead ? diedError(why) : printed
        settle({ result: results[0], error })
        resolve({ results, error })
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

  private spawn(args: string[], input: string | undefined): ChildProcess {
    checkArguments(args)
    const stdin = input === undefined ? undefined : openInput(input)
    const [program = '', ...words] = commandOf(this.place)
    try {
      return spawn(program, [...words, ...args], {
        stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
        detached: true,
        env: { ...process.env, ...this.environment, SUBSTRAT_HOME: this.place.home },
      })
    } finally {
      if (stdin !== undefined) closeSync(stdin)
    }
  }
}

function errorIn(result: unknown): FaceError | undefined {
  const { error, ...rest } = Object(result) as { error?: Partial<FaceError> }
  if (Object.keys(rest).length > 0 || typeof error?.code !== 'string') return undefined
  return new FaceError(error.code, String(error.message), error.hint ?? null)
}

function diedError(why: string): FaceError {
  return new FaceError(
    CHILD_DIED,
    `the command ended without a result: ${why}`,
    'repeat it with the same key',
  )
}

function lastLine(text: string): string | undefined {
  const [last = ''] = text.trim().split('\n').slice(-1)
  return last.replace(/^substrat: /, '') || undefined
}
