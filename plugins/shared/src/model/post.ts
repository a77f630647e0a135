/**
 * One POST and the bytes of its answer.
 *
 * Invariants: an aborted signal destroys the socket at once. The stall timer runs only while somebody waits for the next
 * byte, so a slow reader is not taken for a slow server. Whatever goes wrong on the way is a failure with a sentence that
 * names the host and none of the headers.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { failure, isFailure } from '../failure.js'
import type { Environment } from './proxy.js'
import { type Route, refusedByProxy, routeTo } from './route.js'

export interface PostOptions {
  url: URL
  headers: Record<string, string>
  body: string
  /** How long not a byte may come. */
  stallTimeoutMs: number
  signal: AbortSignal
  environment: Environment
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  /** For sentences. */
  target: string
  chunks(): AsyncGenerator<string, void, undefined>
  /** The answer was read as far as it matters: its connection may serve the next request. */
  release(): void
  destroy(): void
}

// How long a server may take to end an answer that has said all; its connection is given up after that.
const DRAIN_MS_MAX = 1000

export async function post(options: PostOptions): Promise<Answer> {
  options.signal.throwIfAborted()
  try {
    return await send(options, true)
  } catch (error) {
    // A kept connection that the server was just closing: nothing was answered, so it is no failure of the request.
    if (!(error instanceof StaleConnection)) throw error
    return send(options, false)
  }
}

class StaleConnection extends Error {}

async function send(options: PostOptions, reuse: boolean): Promise<Answer> {
  const { url, environment, signal } = options
  const stall = new StallTimer(options.stallTimeoutMs, url.host)
  let request: ClientRequest | undefined
  const opened = (async () => {
    const route = await routeTo(url, { environment, signal: AbortSignal.any([signal, stall.signal]), reuse })
    stall.signal.throwIfAborted()
    request = route.open({ method: 'POST', headers: options.headers, signal })
    const response = await answerOf(request, options.body)
    if (response.statusCode === 407) {
      response.destroy()
      throw refusedByProxy(407, route.target)
    }
    return answer(route, response, options)
  })()
  try {
    return await stall.race(opened, () => request?.destroy())
  } catch (error) {
    signal.throwIfAborted()
    if (reuse && request?.reusedSocket === true && !isFailure(error)) throw new StaleConnection()
    throw networkFailure(error, url.host, 'cannot be reached')
  }
}

function answerOf(request: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // Not once: an abort after the answer has begun is reported here too.
    request.on('error', reject)
    request.end(body)
  })
}

function answer(route: Route, response: IncomingMessage, options: PostOptions): Answer {
  response.setEncoding('utf8')
  response.on('error', () => {})
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    target: route.target,
    chunks: () => chunksOf(response, route.target, options),
    release() {
      if (response.readableEnded) return
      const timer = setTimeout(() => response.destroy(), DRAIN_MS_MAX).unref()
      response.once('close', () => clearTimeout(timer))
      response.socket.unref()
      response.resume()
    },
    destroy: () => void response.destroy(),
  }
}

async function* chunksOf(
  response: IncomingMessage,
  target: string,
  { stallTimeoutMs }: PostOptions,
): AsyncGenerator<string, void, undefined> {
  const iterator = response.iterator({ destroyOnReturn: false })
  for (;;) {
    const stall = new StallTimer(stallTimeoutMs, target)
    let next: IteratorResult<string>
    try {
      next = await stall.race(iterator.next(), () => response.destroy())
    } catch (error) {
      throw networkFailure(error, target, 'was lost in the middle of the answer')
    }
    if (next.done === true) return
    let isRead = false
    try {
      yield next.value
      isRead = true
    } finally {
      // Who reads no further lets go of the stream, or nobody could drain it.
      if (!isRead) await iterator.return?.()
    }
  }
}

/** Ends a wait for bytes that do not come. */
class StallTimer {
  private readonly controller = new AbortController()
  readonly signal = this.controller.signal

  constructor(
    private readonly ms: number,
    private readonly target: string,
  ) {}

  async race<T>(wait: Promise<T>, giveUp: () => void): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    let isOver = false
    const stalled = new Promise<never>((_, reject) => {
      const end = (): void => {
        if (isOver) return
        const stall = failure('timeout', `${this.target} sent nothing for ${this.ms / 1000} s`)
        reject(stall)
        this.controller.abort(stall)
        giveUp()
      }
      // One look at the socket first: a process that was itself held up finds its timers due before its input.
      timer = setTimeout(() => setImmediate(() => setImmediate(end)), this.ms)
    })
    wait.catch(() => {})
    try {
      return await Promise.race([wait, stalled])
    } finally {
      isOver = true
      clearTimeout(timer)
    }
  }
}

// The certificate is not trusted or is somebody else's: asking again would not help.
const UNTRUSTED = /CERT|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY/

function networkFailure(error: unknown, target: string, what: string): Error {
  if (isFailure(error)) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== undefined && UNTRUSTED.test(code)) {
    const sentence = `the certificate of ${target} is not trusted (${code}): name the authority's file in NODE_EXTRA_CA_CERTS`
    return Object.assign(failure('misconfigured', sentence), { cause: error })
  }
  return Object.assign(failure('unreachable', `${target} ${what} (${code ?? message})`), { cause: error })
}
