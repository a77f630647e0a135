/**
 * Runs a program that exchanges JSON lines, for one turn.
 *
 * Invariants:
 * - stdout and stderr are drained until the program's group is dead.
 * - A line that is not a JSON object is ignored.
 * - Output before the exit is read completely, even by a slow reader.
 * - Output of a grandchild delays the end by at most ten seconds.
 * - After `finish` no process of the group runs.
 */
import type { Readable } from 'node:stream'
import type { AgentHost, JsonObject, LaunchCommand, LaunchedProgram } from 'substrat/provider'
import { readLines } from './framing.js'
import { objectOf } from './json.js'
import { parseJson } from './parse.js'
import { keepTail, monotonic, QUIET_MS, sleepUnref } from './tail.js'

/** Longer than any sensible line: an image in a tool's result has some megabytes. */
const LINE_BYTES_MAX = 32 * 1024 * 1024
const STDERR_BYTES_KEPT = 4000
/** Output that is not JSON, for the message of a failure. */
const PLAIN_CHARACTERS_KEPT = 2000
/** Maximum time after the exit to read output of processes that the program left running. */
const DRAIN_MS = 10_000
/** After that, only the rest in the pipe is read. More pieces than a pipe holds mean endless output. */
const LATE_PIECES_MAX = 64
const TERMINATE_MS = 2000

export interface JsonProgram {
  /** Its messages, until stdout ends, or it has exited and is silent. Can be read once. */
  messages(): AsyncIterable<JsonObject>
  /** Writes one line to its stdin. Does nothing if the program no longer reads. */
  write(message: object): void
  /** `text`: the last input, for a program that reads stdin to its end. */
  closeStdin(text?: string): void
  exited: LaunchedProgram['exited']
  /** The end of its stderr, or else of its output that was not JSON: usually the reason of a failure. */
  complaint(): Promise<string>
  /** Waits for the exit, kills the rest of the group, and closes the pipes. Call it on every end of a turn. */
  finish(graceMs: number): Promise<void>
}

export interface JsonProgramOptions {
  signal: AbortSignal
  /** Asks the program to stop when the signal is aborted. It is terminated `abortGraceMs` later; by default at once. */
  onAbort?: (program: JsonProgram) => void
  abortGraceMs?: number
}

export async function launchJsonProgram(
  host: AgentHost,
  command: LaunchCommand,
  { signal, onAbort, abortGraceMs = 0 }: JsonProgramOptions,
): Promise<JsonProgram> {
  const launched = await host.launch(command, { signal })
  const errors = keepTail([launched.stderr], STDERR_BYTES_KEPT)
  let plain = ''
  let isOver = false
  const program: JsonProgram = {
    async *messages() {
      for await (const line of readLines(readUntilExit(launched), LINE_BYTES_MAX)) {
        const message = parsedLine(line)
        if (message !== undefined) yield message
        else if (line !== undefined) plain = `${plain}${line}\n`.slice(-PLAIN_CHARACTERS_KEPT)
      }
    },
    write: (message) => void launched.stdin.write(`${JSON.stringify(message)}\n`),
    closeStdin: (text = '') => void launched.stdin.end(text),
    exited: launched.exited,
    async complaint() {
      await errors.untilSettled()
      return errors.text().trim() || plain.trim()
    },
    async finish(graceMs) {
      isOver = true
      signal.removeEventListener('abort', abort)
      // Close stdin before waiting: many programs exit only then.
      launched.stdin.end()
      launched.stdout.resume()
      await Promise.race([launched.exited, sleep(graceMs)])
      await launched.kill(graceMs === 0 ? 0 : TERMINATE_MS)
      await errors.untilSettled()
      for (const stream of [launched.stdin, launched.stdout, launched.stderr]) (stream as Readable).destroy()
    },
  }
  const abort = async (): Promise<void> => {
    onAbort?.(program)
    if (onAbort !== undefined) await Promise.race([launched.exited, sleep(abortGraceMs)])
    if (!isOver) await launched.kill(TERMINATE_MS)
  }
  // If the reader is gone, the program's exit reports it.
  launched.stdin.on('error', () => undefined)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) void abort()
  return program
}

/** Reads stdout to its end. If another process holds it open, reads until it is silent after the exit. */
async function* readUntilExit(program: LaunchedProgram): AsyncIterable<Buffer> {
  const stdout = program.stdout as Readable
  let lastPieceAt = 0
  let latePieces = 0
  let isLate = false
  program.exited.then(async () => {
    const exitedAt = monotonic()
    while (!stdout.destroyed && !stdout.readableEnded) {
      await sleepUnref(QUIET_MS)
      const now = monotonic()
      isLate = now - exitedAt >= DRAIN_MS
      const isEmpty = stdout.readableLength === 0
      const isOver = isEmpty && (isLate || now - lastPieceAt >= QUIET_MS)
      if (isOver || latePieces > LATE_PIECES_MAX) stdout.destroy()
    }
  })
  try {
    // If the reader stops early, do not destroy stdout: SIGPIPE would kill the program before it has saved its
    // session.
    for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
      lastPieceAt = monotonic()
      if (isLate) latePieces += 1
      yield piece as Buffer
    }
  } catch {
    // The pipe was closed. The output so far is all.
  }
}

function parsedLine(line: string | undefined): JsonObject | undefined {
  if (line === undefined || !line.trimStart().startsWith('{')) return undefined
  try {
    return objectOf(parseJson(line))
  } catch {
    return undefined
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
