/**
 * `exec`: any program as an agent. The shell runs it each turn, the prompt on stdin, the reply on stdout; a non-zero exit
 * fails the turn. It has no store of its own, so a turn whose process died is of unknown outcome.
 */
import { limits } from '../limits.js'
import type {
  AgentEvent,
  AgentHost,
  AgentProvider,
  AgentSession,
  CallOptions,
  LaunchedProgram,
  ProviderSettings,
} from './contract.js'
import { providerFailure } from './failure.js'

/** How long output may still come after the program's exit, from what it left running with its stdout. */
const DRAIN_MS = 200
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
  let bytes = 0
  for await (const piece of readUntilExit(program)) {
    bytes += piece.length
    if (bytes > limits.replyBytesMax) {
      throw providerFailure('crashed', `the command printed more than ${limits.replyBytesMax} bytes`)
    }
    pieces.push(piece)
    yield { type: 'text', text: piece.toString('utf8') }
  }
  const { code, signal } = await program.exited
  if (code !== 0) throw failedExit(code, signal, errors())
  yield { type: 'done', reply: decode(Buffer.concat(pieces)) }
}

/** stdout until its end, or shortly after the program's exit where something that it started keeps it open. */
async function* readUntilExit(program: LaunchedProgram): AsyncIterable<Buffer> {
  const iterator = (program.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const drained = program.exited.then(
    () => new Promise<'drained'>((resolve) => setTimeout(resolve, DRAIN_MS, 'drained').unref()),
  )
  for (;;) {
    const next = iterator.next()
    const winner = await Promise.race([next, drained])
    if (winner === 'drained') {
      // What is still to come is nobody's reply; the rejected read of a stream that we destroy is not an error either.
      next.catch(() => undefined)
      ;(program.stdout as unknown as { destroy(): void }).destroy()
      return
    }
    if (winner.done === true) return
    yield winner.value
  }
}

function keepTail(stream: NodeJS.ReadableStream): () => string {
  let kept = Buffer.alloc(0)
  stream.on('data', (piece: Buffer) => {
    kept = Buffer.concat([kept, piece]).subarray(-STDERR_BYTES_KEPT)
  })
  return () => kept.toString('utf8').trim()
}

function failedExit(code: number | null, signal: string | null, errors: string): Error {
  const how = signal === null ? `exited ${code}` : `was killed by ${signal}`
  return providerFailure('crashed', `the command ${how}${errors === '' ? '' : `: ${errors}`}`)
}

/** One newline at the end is the shell's habit, not the reply's. Bytes that are not UTF-8 become U+FFFD. */
function decode(bytes: Buffer): string {
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}
