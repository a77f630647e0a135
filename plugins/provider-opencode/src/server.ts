/**
 * OpenCode's server, as one turn uses it: its API.
 *
 * Invariants: only who has the password, which is new for each server, may speak to it; after `stop` nothing of its group
 * runs; after `release` neither, but for a server that substrat keeps, which has nothing of the turn left in it.
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
/** Of an answer: the messages of a session are one. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const TERMINATE_MS = 1500
/** A server that is let go is not waited for longer. */
const RELEASE_MS_MAX = 1000

export interface Answer {
  status: number
  body: unknown
}

interface Program {
  output(): string
  /** All that was printed before this call is in `output` after it. A file needs no such wait. */
  untilSettled?(): Promise<void>
  /** Not known of a server that an earlier turn has kept. */
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
    // Each request that is open listens; a warning of Node's would be shown to the person.
    setMaxListeners(0, this.closing.signal)
  }

  /** The end of what it has printed, as a reason. */
  async complaint(): Promise<string> {
    await this.program.untilSettled?.()
    return complaintIn(this.program.output())
  }

  /** Throws where the server cannot be reached; whatever it answers is the caller's. */
  async ask(method: Method, path: string, body?: object, timeoutMs?: number): Promise<Answer> {
    const response = await this.request(method, path, body, timeoutMs)
    return { status: response.statusCode ?? 0, body: parsedBody(await textIn(response, `${method} ${path}`)) }
  }

  /** How it ended, where it has ended by then and that can be known. */
  async exit(withinMs?: number): Promise<Exit | undefined> {
    return this.program.exited === undefined ? undefined : soonExited(this.program.exited, withinMs)
  }

  /** What must succeed. */
  async demand(method: Method, path: string, body?: object): Promise<unknown> {
    const answer = await this.ask(method, path, body)
    if (answer.status < 300) return answer.body
    throw failure(
      'crashed',
      `opencode refused ${method} ${path} with ${answer.status}: ${wordsOf(answer.body)}`,
    )
  }

  /** What happens in the directory, once it is listened to, until the server or this side ends it. */
  async events(): Promise<AsyncIterable<JsonObject>> {
    const response = await this.request('GET', '/event')
    if (response.statusCode === 200) return eventsIn(response)
    throw failure('crashed', `opencode refused GET /event with ${response.statusCode}`)
  }

  /** Tools for the model, for as long as the turn lasts. */
  async addTools(name: string, config: object): Promise<void> {
    this.toolServer = name
    await this.demand('POST', '/mcp', { name, config })
  }

  /** The turn is over, and it is idle. */
  async release(): Promise<void> {
    if (!this.isKept) return this.stop()
    const path = `/mcp/${this.toolServer}/disconnect`
    // Tools that are gone with the turn would only fail.
    if (this.toolServer !== undefined) await this.ask('POST', path, {}, RELEASE_MS_MAX)
    this.isReleased = true
    this.hangUp()
  }

  /** After `release` a server that is kept stays. */
  async letGo(): Promise<void> {
    if (!this.isReleased) await this.stop(0)
  }

  async stop(graceMs = TERMINATE_MS): Promise<void> {
    this.hangUp()
    await this.program.kill(graceMs)
  }

  /** Whatever is still asked of it is given up. */
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
      // A connection that is kept would be met again by the next server, which may have the same port.
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
    // The server has died, or was let go: what it has said is all.
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
