/**
 * A program that speaks JSON in lines, for one turn.
 *
 * Invariants: stdout and stderr are drained until the program's group is dead; a line that is no JSON object is passed
 * over; what the program has said before its exit is read to its end, however slow its reader is; what a grandchild
 * says delays the end by ten seconds at most; after `finish` nothing of the group runs.
 */
import type { Readable } from 'node:stream'
import type { AgentHost, JsonObject, LaunchCommand, LaunchedProgram } from 'substrat/provider'
import { readLines } from './framing.js'
import { objectOf } from './json.js'
import { parseJson } from './parse.js'
import { keepTail, QUIET_MS, sleepUnref } from './tail.js'

/** Longer than any line with which a program would be understood: an image in a tool's result has some megabytes. */
const LINE_BYTES_MAX = 32 * 1024 * 1024
const STDERR_BYTES_KEPT = 4000
/** What it says that is no JSON, for the message of a failure. */
const PLAIN_CHARACTERS_KEPT = 2000
/** Output after the exit, of what the program left running, is waited for no longer than this. */
const DRAIN_MS = 10_000
/** What is then in the pipe is read: more pieces than it holds are of something that prints without end. */
const LATE_PIECES_MAX = 64
const TERMINATE_MS = 2000

export interface JsonProgram {
  /** What it says, until its stdout ends or it has exited and is quiet. To be read once. */
  messages(): AsyncIterable<JsonObject>
  /** One line to its stdin. Nothing happens where it reads no more. */
  write(message: object): void
  /** `text`: the last that it is given, for one that reads its stdin to the end. */
  closeStdin(text?: string): void
  exited: LaunchedProgram['exited']
  /** The end of what it wrote to stderr, or else of what it printed that was no JSON: why it failed, mostly. */
  complaint(): Promise<string>
  /** Waits for its exit, kills what is left of its group then, and lets go of its pipes. For every end of a turn. */
  finish(graceMs: number): Promise<void>
}

export interface JsonProgramOptions {
  signal: AbortSignal
  /** Asks the program to stop when the signal is aborted; it is terminated `abortGraceMs` later. Default: at once. */
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
      // Closed before it is waited for: many a program ends only when its stdin does.
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
  // A pipe whose reader is gone is said by the program's exit.
  launched.stdin.on('error', () => undefined)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) void abort()
  return program
}

/** stdout until its end; where something that the program started keeps it open, until it is quiet after the exit. */
async function* readUntilExit(program: LaunchedProgram): AsyncIterable<Buffer> {
  const stdout = program.stdout as Readable
  let lastPieceAt = 0
  let latePieces = 0
  let isLate = false
  program.exited.then(async () => {
    const exitedAt = performance.now()
    while (!stdout.destroyed && !stdout.readableEnded) {
      await sleepUnref(QUIET_MS)
      const now = performance.now()
      isLate = now - exitedAt >= DRAIN_MS
      const isEmpty = stdout.readableLength === 0
      const isOver = isEmpty && (isLate || now - lastPieceAt >= QUIET_MS)
      if (isOver || latePieces > LATE_PIECES_MAX) stdout.destroy()
    }
  })
  try {
    // Not destroyed when a reader leaves in the middle: the program would die of SIGPIPE before it has saved its session.
    for await (const piece of stdout.iterator({ destroyOnReturn: false })) {
      lastPieceAt = performance.now()
      if (isLate) latePieces += 1
      yield piece as Buffer
    }
  } catch {
    // Its pipe was let go: what it has said so far is all.
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
