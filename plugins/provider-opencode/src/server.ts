/**
 * `opencode serve`, for one turn, and its API.
 *
 * Invariants: only who has the password, which is new for each server, may speak to it; its output is drained until it is
 * dead; after `stop` nothing of its group runs.
 */
import { randomBytes } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import type { Readable } from 'node:stream'
import type { AgentHost, JsonObject, LaunchedProgram } from 'substrat/provider'
import { failure } from '../../model-http/src/failure.js'
import { readLines } from '../../program-lines/src/framing.js'
import { objectOf, textOf } from '../../program-lines/src/json.js'

const START_MS_MAX = 60_000
const LINE_BYTES_MAX = 64 * 1024 * 1024
const STDERR_CHARACTERS_KEPT = 2000
const TERMINATE_MS = 1500
const LISTENING = /\bhttp:\/\/\S+/

export interface Answer {
  status: number
  body: unknown
}

export class Server {
  private readonly closing = new AbortController()

  private constructor(
    private readonly program: LaunchedProgram,
    private readonly url: string,
    private readonly password: string,
    private readonly directory: string,
    readonly complaint: () => string,
  ) {}

  static async start(
    host: AgentHost,
    command: string,
    directory: string,
    signal: AbortSignal,
  ): Promise<Server> {
    const password = randomBytes(24).toString('base64url')
    const argv: [string, ...string[]] = ['/bin/sh', '-c', `${command} serve --hostname 127.0.0.1 --port 0`]
    const env = { OPENCODE_SERVER_PASSWORD: password, OPENCODE_SERVER_USERNAME: USER }
    const program = await host.launch({ argv, cwd: directory, env }, { signal })
    program.stdin.end()
    const complaint = keepTail(program.stderr)
    try {
      const url = await listening(program, command, complaint, signal)
      return new Server(program, url, password, directory, complaint)
    } catch (error) {
      await program.kill(0)
      throw error
    }
  }

  /** Throws where the server cannot be reached; whatever it answers is the caller's. */
  async ask(method: Method, path: string, body?: object): Promise<Answer> {
    const response = await this.request(method, path, body)
    let text = ''
    response.setEncoding('utf8')
    for await (const piece of response) text += piece
    return { status: response.statusCode ?? 0, body: parsed(text) }
  }

  /** What must succeed. */
  async must(method: Method, path: string, body?: object): Promise<unknown> {
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

  async stop(graceMs = TERMINATE_MS): Promise<void> {
    this.closing.abort()
    await this.program.kill(graceMs)
    for (const stream of [this.program.stdout, this.program.stderr]) (stream as Readable).destroy()
  }

  private request(method: Method, path: string, body?: object): Promise<IncomingMessage> {
    const url = new URL(path, this.url)
    url.searchParams.set('directory', this.directory)
    const options = {
      method,
      auth: `${USER}:${this.password}`,
      headers: { 'content-type': 'application/json' },
      signal: this.closing.signal,
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
const USER = 'opencode'

export function wordsOf(body: unknown): string {
  const object = objectOf(body)
  const data = objectOf(object?.data)
  return textOf(data?.message) ?? textOf(object?.message) ?? textOf(body) ?? JSON.stringify(body)
}

/** Resolves with its URL. Its stdout is read on after that, and nothing of it kept. */
function listening(
  program: LaunchedProgram,
  command: string,
  complaint: () => string,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(
      () =>
        reject(
          failure(
            'timeout',
            `${command} serve does not listen after ${START_MS_MAX / 1000} s: ${complaint()}`,
          ),
        ),
      START_MS_MAX,
    )
    const read = async (): Promise<void> => {
      for await (const line of readLines(program.stdout as Readable, LINE_BYTES_MAX)) {
        const url = LISTENING.exec(line ?? '')?.[0]
        if (url !== undefined) resolve(url)
      }
    }
    // A stdout that was let go is read no more.
    const reading = read().catch(() => undefined)
    Promise.all([reading, program.exited]).then(([, { code, signal: killer }]) => {
      const how = killer === null ? `exited ${code}` : `was killed by ${killer}`
      const type = code === 127 || code === 126 ? 'misconfigured' : 'crashed'
      reject(failure(type, `${command} serve ${how} before it listened: ${complaint()}`))
    })
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    program.exited.then(done)
    if (signal.aborted) onAbort()
  })
}

async function* eventsIn(body: IncomingMessage): AsyncIterable<JsonObject> {
  try {
    for await (const line of readLines(body, LINE_BYTES_MAX)) {
      const event = line?.startsWith('data:') ? objectOf(parsed(line.slice('data:'.length))) : undefined
      if (event !== undefined) yield event
    }
  } catch {
    // The server has died, or was let go: what it has said is all.
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function keepTail(stream: NodeJS.ReadableStream): () => string {
  let kept = ''
  stream.setEncoding('utf8')
  stream.on('data', (piece: string) => {
    kept = (kept + piece).slice(-STDERR_CHARACTERS_KEPT)
  })
  stream.on('error', () => undefined)
  return () => kept.trim()
}
