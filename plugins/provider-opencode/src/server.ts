/**
 * The HTTP API of OpenCode's server, as one turn uses it.
 *
 * Invariants:
 * - The password is new for each server, and the server accepts no request without it.
 * - After `stop` no process of its group runs.
 * - After `release` only a kept server runs, with nothing of the turn in it.
 */
import { setMaxListeners } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { JsonObject } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { type Exit, soonExited } from '../../shared/src/program/exit.js'
import { readLines } from '../../shared/src/program/framing.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { parseJson } from '../../shared/src/program/parse.js'
import { timeoutSignal } from '../../shared/src/timeout-signal.js'

const LINE_BYTES_MAX = 32 * 1024 * 1024
/** The longest answer is a session's messages. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const TERMINATE_MS = 1500
/** Time for a kept server to disconnect substrat's tools. */
const RELEASE_MS_MAX = 1000
/** Time for a living server to answer a request that needs no work. */
export const HEALTH_MS_MAX = 1000

export interface Answer {
  status: number
  body: unknown
}

interface Program {
  output(): string
  /** Afterwards `output` has everything printed before this call. Output to a file needs no wait. */
  untilSettled?(): Promise<void>
  /** Undefined for a server that an earlier turn kept. */
  exited?: Promise<Exit>
  kill(graceMs: number): Promise<void>
}

export class Server {
  private readonly closing = new AbortController()
  private toolServer: string | undefined
  private isReleased = false

  constructor(
    private readonly program: Program,
    private readonly handle: { url: string; password: string },
    private readonly directory: string,
    private readonly isKept: boolean,
  ) {
    // Each open request adds a listener. Node would print a warning about their number.
    setMaxListeners(0, this.closing.signal)
  }

  /** The end of its output, as the reason of a failure. */
  async complaint(): Promise<string> {
    await this.program.untilSettled?.()
    return complaintIn(this.program.output())
  }

  /** Throws if the server cannot be reached. The caller handles the status. */
  async ask(method: Method, path: string, body?: object, timeoutMs?: number): Promise<Answer> {
    const response = await this.request(method, path, body, timeoutMs)
    return { status: response.statusCode ?? 0, body: parsedBody(await textIn(response, `${method} ${path}`)) }
  }

  /** Whether a process still serves its address. */
  async answers(): Promise<boolean> {
    return this.ask('GET', '/global/health', undefined, HEALTH_MS_MAX).then(
      () => true,
      () => false,
    )
  }

  /** Its exit; undefined if it is still running or the exit cannot be known. */
  async exit(withinMs?: number): Promise<Exit | undefined> {
    return this.program.exited === undefined ? undefined : soonExited(this.program.exited, withinMs)
  }

  /** Like `ask`, but throws unless the request succeeds. */
  async demand(method: Method, path: string, body?: object): Promise<unknown> {
    const answer = await this.ask(method, path, body)
    if (answer.status < 300) return answer.body
    throw failure(
      'crashed',
      `opencode refused ${method} ${path} with ${answer.status}: ${wordsOf(answer.body)}`,
    )
  }

  /** The events of the directory, from now until the server or this side closes the connection. */
  async events(): Promise<AsyncIterable<JsonObject>> {
    const response = await this.request('GET', '/event')
    if (response.statusCode === 200) return eventsIn(response)
    throw failure('crashed', `opencode refused GET /event with ${response.statusCode}`)
  }

  /** Offers substrat's tools to the model for this turn. */
  async addTools(name: string, config: object): Promise<void> {
    this.toolServer = name
    await this.demand('POST', '/mcp', { name, config })
  }

  /** Leaves a kept server for the next turn, and stops any other. OpenCode must be idle. */
  async release(): Promise<void> {
    if (!this.isKept) return this.stop()
    const path = `/mcp/${this.toolServer}/disconnect`
    // The tool server ends with the turn, and its tools would only fail.
    if (this.toolServer !== undefined) await this.ask('POST', path, {}, RELEASE_MS_MAX)
    this.isReleased = true
    this.hangUp()
  }

  /** Stops the server, unless it was released. */
  async letGo(): Promise<void> {
    if (!this.isReleased) await this.stop(0)
  }

  async stop(graceMs = TERMINATE_MS): Promise<void> {
    this.hangUp()
    await this.program.kill(graceMs)
  }

  /** Aborts all open requests. */
  hangUp(): void {
    this.closing.abort()
  }

  private request(method: Method, path: string, body?: object, timeoutMs?: number): Promise<IncomingMessage> {
    const url = new URL(path, this.handle.url)
    url.searchParams.set('directory', this.directory)
    const { signal } = this.closing
    const options = {
      method,
      auth: `${USER}:${this.handle.password}`,
      headers: { 'content-type': 'application/json' },
      signal: timeoutMs === undefined ? signal : AbortSignal.any([signal, timeoutSignal(timeoutMs)]),
      // A pooled connection could reach the next server, which can get the same port.
      agent: false as const,
    }
    return new Promise((resolve, reject) => {
      const asked = request(url, options, resolve)
      asked.on('error', reject)
      asked.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

type Method = 'GET' | 'POST'
export const USER = 'opencode'

export function wordsOf(body: unknown): string {
  const object = objectOf(body)
  const data = objectOf(object?.data)
  return textOf(data?.message) ?? textOf(object?.message) ?? textOf(body) ?? JSON.stringify(body)
}

async function* eventsIn(body: IncomingMessage): AsyncIterable<JsonObject> {
  try {
    for await (const line of readLines(body, LINE_BYTES_MAX)) {
      const event = line?.startsWith('data:') ? objectOf(parsedBody(line.slice('data:'.length))) : undefined
      if (event !== undefined) yield event
    }
  } catch {
    // The server died or was released. Its earlier events are complete.
  }
}

async function textIn(response: IncomingMessage, asked: string): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > BODY_BYTES_MAX)
      throw failure('invalid_response', `opencode answered ${asked} with more than ${BODY_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function parsedBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

export function complaintIn(output: string): string {
  return output
    .split('\n')
    .filter((line) => !/server listening on http/.test(line))
    .join('\n')
    .slice(-2000)
    .trim()
}
