/**
 * Connects an agent program, which speaks MCP on stdio, to the process that runs its turn. That process serves substrat's
 * tools on a socket until the turn ends.
 *
 * Invariants: valid messages pass through byte for byte; the bridge itself answers the others. Every request gets an answer,
 * also without a server and after the server has exited.
 */
import { once } from 'node:events'
import type { Duplex, Readable, Writable } from 'node:stream'
import { EXIT_STATUS } from '../errors.js'
import { connectTo } from '../files/socket.js'
import { limits } from '../limits.js'
import { errorLine, type Message, type ParsedMessage, parseMessage } from '../turn/tools/json-rpc.js'
import { linesOf } from '../turn/tools/lines.js'

/** Bridges to the socket in SUBSTRAT_SOCKET. */
export async function bridgeStdio(): Promise<void> {
  // The program may close our stdout at any time. That ends the bridge and is not a failure.
  process.stdout.removeAllListeners('error').on('error', ({ code }: NodeJS.ErrnoException) => {
    process.stdout.destroy()
    if (code === 'EPIPE' || process.exitCode !== undefined) return
    process.exitCode = EXIT_STATUS.STORAGE_FAILED
    process.stderr.write(
      `substrat: cannot write an answer to stdout: ${code} (start substrat mcp on a pipe)\n`,
    )
  })
  process.stderr.on('error', () => undefined)
  await bridge(process.env.SUBSTRAT_SOCKET || undefined, process.stdin, process.stdout)
}

/** Settles when one side has closed. `socket` is undefined if no turn set SUBSTRAT_SOCKET. */
async function bridge(socket: string | undefined, input: Readable, output: Writable): Promise<void> {
  const holder = socket === undefined ? undefined : await connectTo(socket)
  if (holder === undefined) {
    const why = socket === undefined ? NO_TURN : OVER
    return Promise.race([refuse(why, input, output), closeOf(output)])
  }
  const open = new OpenRequests()
  holder.on('error', () => undefined)
  const gone = closeOf(holder)
  void ask(holder, input, output, open).catch(() => holder.destroy())
  await Promise.race([answer(holder, output, open).catch(() => undefined), closeOf(output)])
  holder.destroy()
  await gone
  for (const id of open.ids()) output.write(errorLine(id, UNREACHABLE, OVER))
}

const NO_TURN =
  'Refused: SUBSTRAT_SOCKET is not set. An agent program must start substrat mcp during a turn, with the environment of that turn.'
const OVER =
  'Refused: the turn that served these tools has ended, or its substrat process has died. The tools are available again in the next turn.'

/** The JSON-RPC error code for an unreachable server. */
const UNREACHABLE = -32000

function closeOf(stream: Duplex | Writable): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()))
}

async function ask(holder: Duplex, input: Readable, output: Writable, open: OpenRequests): Promise<void> {
  for await (const line of linesOf(input, limits.mcpLineBytesMax)) {
    const heard = parseMessage(line)
    if (heard.kind === 'refused') await writeTo(output, heard.answer)
    if (heard.kind !== 'message') continue
    open.openRequest(heard)
    await writeTo(holder, line.bytes)
  }
  // A client may send one request and close its end. It still gets the answer.
  await open.untilAnswered()
  holder.end()
}

async function answer(holder: Duplex, output: Writable, open: OpenRequests): Promise<void> {
  for await (const { bytes } of linesOf(holder)) {
    open.closeAnswered(bytes)
    await writeTo(output, bytes)
  }
}

async function refuse(why: string, input: Readable, output: Writable): Promise<void> {
  for await (const line of linesOf(input, limits.mcpLineBytesMax)) {
    const heard = parseMessage(line)
    if (heard.kind === 'refused') await writeTo(output, heard.answer)
    if (heard.kind === 'message' && heard.id !== undefined)
      await writeTo(output, errorLine(heard.id, UNREACHABLE, why))
  }
}

async function writeTo(output: Writable, bytes: string | Buffer): Promise<void> {
  if (!output.write(bytes)) await once(output, 'drain')
}

/** The ids, as JSON, of requests without an answer. */
class OpenRequests {
  private readonly open = new Set<string>()
  private onNone: (() => void) | undefined

  openRequest({ id, message }: Extract<ParsedMessage, { kind: 'message' }>): void {
    if (id !== undefined) this.open.add(id)
    // A cancelled request gets no answer.
    else if (message.method === 'notifications/cancelled')
      this.close((message.params as { requestId?: unknown } | undefined)?.requestId)
  }

  closeAnswered(line: Buffer): void {
    const message = parsedMessage(line)
    if (message !== undefined && message.method === undefined) this.close(message.id)
  }

  untilAnswered(): Promise<void> {
    return new Promise((resolve) => {
      this.onNone = resolve
      this.tell()
    })
  }

  ids(): string[] {
    return [...this.open]
  }

  private close(id: unknown): void {
    this.open.delete(JSON.stringify(id))
    this.tell()
  }

  private tell(): void {
    if (this.open.size === 0) this.onNone?.()
  }
}

/** Parses a line from the holder without the checks for foreign input: substrat wrote it. */
function parsedMessage(line: Buffer): Message | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
