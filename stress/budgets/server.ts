/** A model server with exact sizes and its own count of the tokens that it would charge for. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../test/support/random.js'

interface Request {
  messages?: unknown
  tools?: unknown
  max_tokens?: number
}

export interface ServerOptions {
  random: Random
  /** The share of replies that are longer than `max_tokens`, and by how much at most. */
  longer: number
  longerTokens: number
  delayMs: number
}

/** A token for four bytes of the request. */
const BYTES_PER_TOKEN = 4

export class CountingServer {
  /** Everything that was asked for, also by a client that died before the reply. */
  charged = 0
  /** The part of it that `max_tokens` forbade. */
  excess = 0
  requests = 0
  /** The most that was charged at once by requests in flight. */
  private readonly server: Server

  private constructor(private readonly options: ServerOptions) {
    this.server = createServer((request, response) => {
      this.answer(request, response).catch(() => response.destroy())
    })
  }

  static async start(options: ServerOptions): Promise<CountingServer> {
    const counting = new CountingServer(options)
    await new Promise<void>((resolve) => counting.server.listen(0, '127.0.0.1', resolve))
    return counting
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  private async answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of incoming) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    const { messages, max_tokens: max = 0 } = JSON.parse(body.toString()) as Request
    const { random, longer, longerTokens, delayMs } = this.options
    this.requests += 1
    if (random.chance(0.05)) {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' })
      response.end(JSON.stringify({ error: { message: 'later', type: 'rate_limit_error' } }))
      return
    }
    const prompt = Math.ceil(body.length / BYTES_PER_TOKEN)
    const isLonger = random.chance(longer)
    const completion = isLonger ? max + 1 + random.below(longerTokens) : 1 + random.below(max)
    // A client that dies is charged too.
    this.charged += prompt + completion
    if (isLonger) this.excess += completion - max
    await sleep(random.below(delayMs))
    if (random.chance(0.03)) {
      // The client cannot know what this has used.
      response.destroy()
      return
    }
    const hasResults = JSON.stringify(messages).split('"role":"tool"').length - 1
    const calls = hasResults < 2 && random.chance(0.4) ? [shellCall(this.requests)] : undefined
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = calls === undefined ? { content: 'done' } : { tool_calls: calls }
    const reason = calls === undefined ? 'stop' : 'tool_calls'
    send(response, { choices: [{ index: 0, delta }] })
    send(response, { choices: [{ index: 0, delta: {}, finish_reason: reason }] })
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
    send(response, { choices: [], usage })
    response.end('data: [DONE]\n\n')
  }
}

function shellCall(n: number): object {
  const call = { name: 'shell', arguments: JSON.stringify({ command: 'sleep 0.05; echo done' }) }
  return { index: 0, id: `call-${n}`, type: 'function', function: call }
}

function send(response: ServerResponse, chunk: object): void {
  response.write(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', created: 1, ...chunk })}\n\n`,
  )
}
