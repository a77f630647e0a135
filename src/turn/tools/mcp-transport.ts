/**
 * MCP messages over a connection, one per line. The SDK's own transport drops invalid messages and closes at a line that is
 * too long, so the client would wait forever.
 */
import type { Duplex } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js'
import { limits } from '../../limits.js'
import { errorLine, INVALID_REQUEST, idOf, type Message, parseMessage } from './json-rpc.js'
import { linesOf } from './lines.js'

export class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void

  constructor(private readonly connection: Duplex) {}

  async start(): Promise<void> {
    this.connection.once('close', () => this.onclose?.())
    this.read().catch((error: Error) => {
      this.onerror?.(error)
      this.connection.destroy()
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    return this.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.connection.destroy()
  }

  private async read(): Promise<void> {
    for await (const line of linesOf(this.connection, limits.mcpLineBytesMax)) {
      const heard = parseMessage(line)
      if (heard.kind === 'refused') await this.write(heard.answer)
      if (heard.kind === 'message') await this.take(heard.message)
    }
  }

  private async take(message: Message): Promise<void> {
    const { success, data } = JSONRPCMessageSchema.safeParse(message)
    if (success) this.onmessage?.(data)
    else await this.write(errorLine(idOf(message), INVALID_REQUEST, 'MCP has no message of this form.'))
  }

  /** Resolves once the text is flushed, or the connection is closed. */
  private write(text: string): Promise<void> {
    const { connection } = this
    return new Promise((resolve) => {
      if (connection.destroyed) return resolve()
      connection.write(text, () => resolve())
    })
  }
}
