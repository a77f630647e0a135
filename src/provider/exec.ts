/**
 * `exec`: any program as an agent. In each turn the shell runs it with the prompt on stdin; stdout is the reply. A nonzero exit
 * fails the turn. The program has no store, so the outcome of a turn whose process died is unknown.
 */
import { clock, sleepUnref } from '../clock.js'
import { limits } from '../limits.js'
import type { AgentEvent, AgentProvider, AgentSession, ProviderSettings } from './contract.js'
import { providerFailure } from './failure.js'
import type { AgentHost, CallOptions, LaunchedProgram } from './host-contract.js'

/** After the program's exit, orphans may hold its stdout open. Its output counts as complete after a pause of this length. */
const QUIET_MS = 200
/** The longest time to read from an orphan that does not pause. */
const DRAIN_MS = 2000
/** After that, only the pieces that a pipe can hold are read: more come from a process that prints without end. */
const LATE_PIECES_MAX = 64
const TERMINATE_MS = 2000
/** The end of stderr in the sentence of a failure. The log has more of it. */
const STDERR_BYTES_TOLD = 2000

export const exec: AgentProvider = {
  kind: 'agent',
  isOneCall: true,
  reports: { tokens: false, usd: false },
  description: 'any program: the shell runs it each turn, prompt on stdin, reply on stdout',
  options: {
    command: 'the shell command to run each turn',
    history: 'on: the prompt begins with the conversation so far, in words (default: off)',
  },
  check(settings) {
    if (commandOf(settings) === undefined) {
      throw providerFailure('misconfigured', "the exec provider needs a command: --option command='…'")
    }
    const { history = 'off' } = settings.options
    if (history !== 'on' && history !== 'off')
      throw providerFailure('misconfigured', `option history is on or off, not ${JSON.stringify(history)}`)
  },
  program: (settings) => ({ shell: commandOf(settings) ?? '' }),
  needsHistory: ({ options }) => options.history === 'on',
  create: async (settings, host) => session(settings, host),
  restore: async (_state, settings, host) => session(settings, host),
  inspect: async () => ({ outcome: 'unknown' }),
}

function commandOf(settings: ProviderSettings): string | undefined {
  const command = settings.options.command
  return command === undefined || command.trim() === '' ? undefined : command
}

function session(settings: ProviderSettings, host: AgentHost): AgentSession {
  let program: LaunchedProgram | undefined
  const stop = async (): Promise<void> => {
    await program?.kill(0)
    program = undefined
  }
  return {
    async *send(prompt: string, options: CallOptions): AsyncIterable<AgentEvent> {
      const argv: [string, ...string[]] = ['/bin/sh', '-c', commandOf(settings) ?? 'false']
      program = await host.launch({ argv, cwd: settings.workspace }, options)
      const onAbort = (): void => void program?.kill(TERMINATE_MS)
      options.signal.addEventListener('abort', onAbort, { once: true })
      try {
        yield* runTurn(program, prompt)
      } finally {
        options.signal.removeEventListener('abort', onAbort)
        await program.kill(options.signal.aborted ? TERMINATE_MS : 0)
      }
    },
    async suspend() {
      await stop()
      return null
    },
    stop,
  }
}

async function* runTurn(program: LaunchedProgram, prompt: string): AsyncIterable<AgentEvent> {
  const errors = new ErrorOutput(program.stderr)
  program.stdin.end(prompt)
  const pieces: Buffer[] = []
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let bytes = 0
  for await (const piece of besideErrors(readUntilExit(program), errors)) {
    yield* errors.events()
    if (piece === undefined) continue
    pieces.push(piece)
    bytes += piece.length
    if (bytes > limits.replyBytesMax) {
      yield { type: 'output', stream: 'stdout', text: Buffer.concat(pieces).toString('utf8') }
      throw providerFailure('crashed', `the command printed more than ${limits.replyBytesMax} bytes`)
    }
    yield { type: 'text', text: decoder.decode(piece, { stream: true }) }
  }
  const { code, signal } = await program.exited
  await errors.untilSettled(code === 0 ? lookOnce : untilQuiet)
  yield* errors.events()
  if (code !== 0) {
    yield { type: 'output', stream: 'stdout', text: Buffer.concat(pieces).toString('utf8') }
    throw failedExit(code, signal, errors.end)
  }
  yield { type: 'done', reply: decode(Buffer.concat(pieces)) }
}

/** The pieces of stdout, and undefined whenever stderr has something new. */
async function* besideErrors(
  stdout: AsyncIterator<Buffer>,
  errors: ErrorOutput,
): AsyncIterable<Buffer | undefined> {
  try {
    for (let next = stdout.next(); ; ) {
      const result = await Promise.race([next, errors.more()])
      if (result === 'more') yield undefined
      else if (result.done === true) return
      else {
        yield result.value
        next = stdout.next()
      }
    }
  } finally {
    // Not awaited: a pending read settles only after the program is killed.
    stdout.return?.().catch(() => undefined)
  }
}

/** Reads stdout to its end. If an orphan holds it open, reads until a pause after the program's exit. */
async function* readUntilExit(program: LaunchedProgram): AsyncGenerator<Buffer, void> {
  const iterator = (program.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let exitedAt = Number.POSITIVE_INFINITY
  const exited = program.exited.then(() => {
    exitedAt = clock.monotonic()
  })
  for (let latePieces = 0; ; ) {
    const next = iterator.next()
    const result = await Promise.race([
      next,
      exited.then(() => (latePieces === 0 ? untilQuiet() : lookOnce())),
    ])
    if (result === 'quiet' || latePieces > LATE_PIECES_MAX) {
      // Later output is not part of the reply. Destroying the stream rejects the pending read, which is not an error.
      next.catch(() => undefined)
      ;(program.stdout as unknown as { destroy(): void }).destroy()
      return
    }
    if (result.done === true) return
    yield result.value
    if (clock.monotonic() - exitedAt > DRAIN_MS) latePieces += 1
  }
}

/** Waits for the pause, then checks the pipes once: after a stall of this process, a timer may fire before pending input is read. */
async function untilQuiet(): Promise<'quiet'> {
  await sleepUnref(QUIET_MS)
  return lookOnce()
}

function lookOnce(): Promise<'quiet'> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve, 'quiet'))
  })
}

/** The program's stderr. `untilSettled` also reads everything written before the call: the exit event may come first. */
class ErrorOutput {
  private kept = Buffer.alloc(0)
  private bytes = 0
  private isOver = false
  private readonly over: Promise<void>
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  private pieces: string[] = []
  private wake: (() => void) | undefined
  private waiting: Promise<'more'> | undefined

  constructor(stream: NodeJS.ReadableStream) {
    stream.on('data', (piece: Buffer) => this.add(piece))
    this.over = new Promise((resolve) => {
      for (const event of ['end', 'close', 'error']) {
        stream.on(event, () => {
          this.isOver = true
          resolve()
        })
      }
    })
  }

  /** Its last words, for the sentence of a failure. */
  get end(): string {
    return this.kept.toString('utf8').trim()
  }

  /** The text since the last call. */
  *events(): Iterable<AgentEvent> {
    const text = this.pieces.join('')
    this.pieces = []
    if (text !== '') yield { type: 'output', stream: 'stderr', text }
  }

  /** Resolves once `events` has something. */
  more(): Promise<'more'> {
    if (this.pieces.length > 0) return Promise.resolve('more')
    this.waiting ??= new Promise((resolve) => {
      this.wake = () => {
        this.waiting = undefined
        resolve('more')
      }
    })
    return this.waiting
  }

  async untilSettled(pause: () => Promise<unknown>): Promise<void> {
    const end = clock.monotonic() + DRAIN_MS
    for (let before = -1; !this.isOver && before !== this.bytes && clock.monotonic() < end; ) {
      before = this.bytes
      await Promise.race([this.over, pause()])
    }
  }

  private add(piece: Buffer): void {
    this.bytes += piece.length
    this.kept = Buffer.concat([this.kept, piece]).subarray(-STDERR_BYTES_TOLD)
    this.pieces.push(this.decoder.decode(piece, { stream: true }))
    this.wake?.()
  }
}

function failedExit(code: number | null, signal: string | null, errors: string): Error {
  const how = signal === null ? `exited ${code}` : `was killed by ${signal}`
  return providerFailure('crashed', `the command ${how}${errors === '' ? '' : `: ${errors}`}`)
}

/** The reply without the one newline that programs print at the end. Bytes that are not UTF-8 become U+FFFD. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}
