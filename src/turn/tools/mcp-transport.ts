/**
 * The messages of a tool server (MCP over stdio): JSON-RPC, one message per LF-ended line.
 *
 * Invariants:
 * - A line over the limit never fills the memory. The request that it answers fails, and the server goes on.
 * - What the server wrote to stderr is known when it ends, so that its failure can name the cause.
 */

import type { Readable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'
import { sleepUnref } from '../../clock.js'
import { limits } from '../../limits.js'
import { fatalSignalOf } from '../../provider/deaths.js'
import { plainSentence } from '../../provider/failure.js'
import type { LaunchedProgram } from '../../provider/host-contract.js'
import { idAtAnEnd } from './json-rpc.js'
import { type Line, linesOf } from './lines.js'

const STOP_GRACE_MS = 500
const STDERR_BYTES_KEPT = 4096
const SAID_CHARACTERS_MAX = 500
/** A server whose line is this many times over the limit is stopped. */
const ENDLESS_LINE = 16
/** The code of the error that this module answers in the server's place. No server uses it. */
export const TOO_LARGE = -32_999

type Ending = Awaited<LaunchedProgram['exited']>

export class McpTransport implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: () => void
  onerror?: (error: Error) => void
  private ending: Ending | undefined
  /** Settled while the server runs. After its end, `endedBecause` is known once it settles. */
  endKnown: Promise<void> = Promise.resolve()
  private stderr = Buffer.alloc(0)
  private readonly open = new Set<RequestId>()
  /** The line that is being read is too long, and its request has failed. */
  private isRefused = false

  /** Call it as soon as the program is launched: Node discards what a dead program wrote to a stream without a reader. */
  constructor(private readonly program: LaunchedProgram) {
    program.stderr.on('data', (piece: Buffer) => {
      this.stderr = Buffer.concat([this.stderr, piece]).subarray(-STDERR_BYTES_KEPT)
    })
  }

  async start(): Promise<void> {
    const { program } = this
    const reading = this.read().catch((error) => this.onerror?.(error as Error))
    void program.exited.then((ending) => {
      this.endKnown = this.end(ending, Promise.all([reading, untilEnd(program.stderr)]))
    })
  }

  /** The pipes may still hold the server's last words. Its children may keep them open. */
  private async end(ending: Ending, lastWords: Promise<unknown>): Promise<void> {
    await Promise.race([lastWords, sleepUnref(STOP_GRACE_MS)])
    this.ending = ending
    this.onclose?.()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message && 'id' in message) this.open.add(message.id)
    this.program.stdin.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    await this.program.kill(STOP_GRACE_MS)
  }

  /** The end of what the server wrote to stderr. */
  get lastWords(): string {
    return this.stderr.toString('utf8').trim()
  }

  /** How the server's process ended; undefined while it runs. */
  endedBecause(command: string): string | undefined {
    return this.ending === undefined ? undefined : endingText(command, this.ending, this.lastWords)
  }

  /** With the server's last words, unless they are those of the shell that could not execute it. */
  withStderr(reason: string): string {
    const words = this.lastWords
    if (words === '' || NOT_EXECUTED.test(words)) return reason
    const plain = plainSentence(words)
    const said = plain.length <= SAID_CHARACTERS_MAX ? plain : `…${plain.slice(-SAID_CHARACTERS_MAX)}`
    return `${reason}; its stderr: ${said}`
  }

  private async read(): Promise<void> {
    const stdout = this.program.stdout as Readable
    const lines = linesOf(stdout, limits.toolOutputBytesMax, (line) => this.grow(line))
    for await (const line of lines) {
      if (line.left === 0) this.receive(line.bytes)
      else if (!this.isRefused) this.refuse(idAtAnEnd(line))
      this.isRefused = false
    }
  }

  private receive(line: Buffer): void {
    try {
      const message = JSON.parse(line.toString('utf8')) as JSONRPCMessage
      if ('id' in message && !('method' in message)) this.settle(message.id as RequestId)
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  private settle(id: RequestId): void {
    // A server may answer with the number as text.
    for (const open of this.open) if (String(open) === String(id)) this.open.delete(open)
  }

  /** A line that is too long already, and not at its end. */
  private grow(line: Line): void {
    const id = idAtAnEnd({ ...line, tail: Buffer.alloc(0) })
    if (!this.isRefused && (id !== 'null' || this.open.size === 1)) this.refuse(id)
    if (line.left > ENDLESS_LINE * limits.toolOutputBytesMax) void this.program.kill(0)
  }

  /** Fails the request that the line answers. If that is unknown, none of the open ones can be trusted to get an answer. */
  private refuse(id: string): void {
    this.isRefused = true
    const answered = [...this.open].filter((open) => id === 'null' || String(open) === String(JSON.parse(id)))
    const mebibytes = limits.toolOutputBytesMax / 1024 / 1024
    const message = `the answer is over the limit of ${mebibytes} MiB and was not read; ask for less`
    for (const open of answered) {
      this.open.delete(open)
      this.onmessage?.({ jsonrpc: '2.0', id: open, error: { code: TOO_LARGE, message } })
    }
  }
}

function untilEnd(stream: NodeJS.ReadableStream): Promise<unknown> | undefined {
  if ((stream as { readableEnded?: boolean }).readableEnded === true) return undefined
  return new Promise((resolve) => stream.once('end', resolve).once('close', resolve))
}

/** The words of the shell at the start barrier. */
const NOT_EXECUTED =
  /^sh: (?:line )?\d+: exec: [^\n]*$|^sh: (?:line )?\d+: [^\n]*: No such file or directory$/

function endingText(command: string, { code, signal }: Ending, lastWords: string): string {
  if (code === 127 && NOT_EXECUTED.test(lastWords))
    return command.includes('/') ? `${command} does not exist` : `${command} was not found in PATH`
  if (code === 126 && NOT_EXECUTED.test(lastWords)) return `${command} cannot be executed`
  const killedBy = fatalSignalOf({ code, signal })
  return killedBy === undefined ? `exit status ${code}` : `killed by ${killedBy}`
}
