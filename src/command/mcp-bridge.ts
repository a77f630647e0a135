/**
 * The way from an agent's program, which speaks MCP over stdio, to the holder of its agent, which serves substrat's tools on
 * a socket for as long as the turn lasts. Messages go through byte for byte; what is no message is answered here. No request
 * is left without an answer: not where nobody serves, and not when the holder goes.
 */
import { once } from 'node:events'
import type { Duplex, Readable, Writable } from 'node:stream'
import { EXIT_STATUS } from '../errors.js'
import { connectTo } from '../files/socket.js'
import { limits } from '../limits.js'
import { errorLine, type Message, type ParsedMessage, parseMessage } from '../turn/tools/json-rpc.js'
import { linesOf } from '../turn/tools/lines.js'

/** For the holder that the environment names. */
export async function bridgeStdio(): Promise<void> {
  // Whoever reads our answers may go at any time: that ends the bridge, and is no failure.
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

/** Settles when there is nothing more to carry. `socket` is undefined where no turn has named one. */
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
  'Refused: there is no turn to call from. The program of an agent starts substrat mcp, with the SUBSTRAT_SOCKET of its turn.'
const OVER =
  'Refused: the turn that served these tools is over, or its substrat has died. They are there again in the next turn.'

/** JSON-RPC's code for a server of ours that cannot be reached. */
const UNREACHABLE = -32000

/** However it comes to that. */
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
  // Who asks once and closes its end still gets what it asked for.
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

/** Requests that have no answer yet, by their ids as JSON. */
class OpenRequests {
  private readonly open = new Set<string>()
  private onNone: (() => void) | undefined

  openRequest({ id, message }: Extract<ParsedMessage, { kind: 'message' }>): void {
    if (id !== undefined) this.open.add(id)
    // One that is taken back is not answered.
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

/** Of the holder, whose lines are our own. */
function parsedMessage(line: Buffer): Message | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
