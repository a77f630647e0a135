/**
 * `exec`: any program as an agent. In each turn the shell runs it with the prompt on stdin; stdout is the reply. A nonzero exit
 * fails the turn. The program has no store, so the outcome of a turn whose process died is unknown.
 */
import { clock } from '../clock.js'
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
const STDERR_BYTES_KEPT = 2000

export const exec: AgentProvider = {
  kind: 'agent',
  description: 'any program: the shell runs it each turn, prompt on stdin, reply on stdout',
  options: { command: 'the shell command to run each turn' },
  check(settings) {
    if (commandOf(settings) === undefined) {
      throw providerFailure('misconfigured', "the exec provider needs a command: --option command='…'")
    }
  },
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
  const errors = keepTail(program.stderr)
  program.stdin.end(prompt)
  const pieces: Buffer[] = []
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let bytes = 0
  for await (const piece of readUntilExit(program)) {
    bytes += piece.length
    if (bytes > limits.replyBytesMax) {
      throw providerFailure('crashed', `the command printed more than ${limits.replyBytesMax} bytes`)
    }
    pieces.push(piece)
    yield { type: 'text', text: decoder.decode(piece, { stream: true }) }
  }
  const { code, signal } = await program.exited
  if (code !== 0) {
    await errors.untilSettled()
    throw failedExit(code, signal, errors.text())
  }
  yield { type: 'done', reply: decode(Buffer.concat(pieces)) }
}

/** Reads stdout to its end. If an orphan holds it open, reads until a pause after the program's exit. */
async function* readUntilExit(program: LaunchedProgram): AsyncIterable<Buffer> {
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
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS).unref())
  return lookOnce()
}

function lookOnce(): Promise<'quiet'> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve, 'quiet'))
  })
}

/** Collects stderr. `untilSettled` also reads everything written before the call: the exit event may come first. */
function keepTail(stream: NodeJS.ReadableStream): { text(): string; untilSettled(): Promise<void> } {
  let kept = Buffer.alloc(0)
  let bytes = 0
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length
    kept = Buffer.concat([kept, piece]).subarray(-STDERR_BYTES_KEPT)
  })
  let isOver = false
  const over = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) {
      stream.on(event, () => {
        isOver = true
        resolve()
      })
    }
  })
  return {
    text: () => kept.toString('utf8').trim(),
    async untilSettled() {
      const end = clock.monotonic() + DRAIN_MS
      for (let before = -1; !isOver && before !== bytes && clock.monotonic() < end; ) {
        before = bytes
        await Promise.race([over, untilQuiet()])
      }
    },
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
