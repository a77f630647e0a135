/**
 * Sends one request, and reads the bytes of its answer.
 *
 * Invariants:
 * - Aborting the signal destroys the socket at once.
 * - The stall timer runs only while the caller waits for the next byte, so a slow reader does not count as a slow
 *   server.
 * - Every network error becomes a failure whose message names the host and no headers.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { failure, isFailure } from '../failure.js'
import { decodedBody } from './decoded.js'
import type { Environment } from './proxy.js'
import { redirectOf } from './redirect.js'
import { isUnconnected, type Route, refusedByProxy, routeTo, unreachableProxy } from './route.js'

export interface RequestOptions {
  method: 'GET' | 'POST'
  url: URL
  headers: Record<string, string>
  body: string
  /** Maximum time without a byte. */
  stallTimeoutMs: number
  signal: AbortSignal
  environment: Environment
  /** The server must not get the request twice: it has a connection of its own, which is never stale. */
  isSentOnce?: boolean
  /** Called before a byte of the request can reach the server. */
  onSending?(): void
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  /** The name of the host in messages. */
  target: string
  chunks(): AsyncGenerator<string, void, undefined>
  /** The caller needs no more of the answer. Its connection can serve the next request. */
  release(): void
  destroy(): void
}

// Time for a server to end an answer that is complete. After that its connection is closed.
const DRAIN_MS_MAX = 1000

export async function request(options: RequestOptions): Promise<Answer> {
  let { url } = options
  for (let hops = 0; ; hops += 1) {
    const answer = await requestOnce({ ...options, url })
    const { status, target } = answer
    try {
      const next = redirectOf({ ...options, url, status, target, hops, location: answer.headers.location })
      if (next === undefined) return answer
      url = next
    } catch (error) {
      answer.destroy()
      throw error
    }
    answer.destroy()
  }
}

async function requestOnce(options: RequestOptions): Promise<Answer> {
  options.signal.throwIfAborted()
  try {
    return await send(options, options.isSentOnce !== true)
  } catch (error) {
    // The server closed a kept connection before it answered. The request itself has not failed.
    if (!(error instanceof StaleConnection)) throw error
    return send(options, false)
  }
}

class StaleConnection extends Error {}

async function send(options: RequestOptions, reuse: boolean): Promise<Answer> {
  const { url, environment, signal } = options
  const stall = new StallTimer(options.stallTimeoutMs, url.host)
  let request: ClientRequest | undefined
  let proxied: string | undefined
  const opened = (async () => {
    const route = await routeTo(url, { environment, signal: AbortSignal.any([signal, stall.signal]), reuse })
    stall.signal.throwIfAborted()
    proxied = route.proxy
    request = route.open({
      method: options.method,
      headers: { 'accept-encoding': 'identity', ...options.headers },
      signal,
    })
    if (options.onSending !== undefined) onceConnected(request, url, options.onSending)
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
    if (proxied !== undefined && isUnconnected(error)) throw unreachableProxy(error, url.host, proxied)
    throw networkFailure(error, url.host, 'cannot be reached')
  }
}

/** The TLS connection of a tunnel may not be ready when it becomes the socket of the request. */
function onceConnected(request: ClientRequest, { protocol }: URL, onSending: () => void): void {
  request.once('socket', (socket) => {
    const isSecure = protocol === 'https:'
    const { secureConnecting = false } = socket as { secureConnecting?: boolean }
    if (!socket.connecting && !(isSecure && secureConnecting)) onSending()
    else socket.once(isSecure ? 'secureConnect' : 'connect', onSending)
  })
}

function answerOf(request: ClientRequest, body: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    // `on`, not `once`: an abort after the start of the answer is reported here too.
    request.on('error', reject)
    request.end(body)
  })
}

function answer(route: Route, response: IncomingMessage, options: RequestOptions): Answer {
  const body = decodedBody(response, route.target)
  body.setEncoding('utf8')
  body.on('error', () => {})
  response.on('error', () => {})
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    target: route.target,
    chunks: () => chunksOf(body, route.target, options),
    release() {
      if (body.readableEnded) return
      const timer = setTimeout(() => response.destroy(), DRAIN_MS_MAX).unref()
      response.once('close', () => clearTimeout(timer))
      // A decoded answer may still be read after its connection was given back.
      response.socket?.unref()
      body.resume()
    },
    destroy() {
      response.destroy()
      body.destroy()
    },
  }
}

async function* chunksOf(
  body: Readable,
  target: string,
  { stallTimeoutMs }: RequestOptions,
): AsyncGenerator<string, void, undefined> {
  const iterator = body.iterator({ destroyOnReturn: false })
  for (;;) {
    const stall = new StallTimer(stallTimeoutMs, target)
    let next: IteratorResult<string>
    try {
      next = await stall.race(iterator.next(), () => body.destroy())
    } catch (error) {
      throw networkFailure(error, target, 'did not complete its answer')
    }
    if (next.done === true) return
    let isRead = false
    try {
      yield next.value
      isRead = true
    } finally {
      // If the reader stops, release the iterator, so that the stream can be drained.
      if (!isRead) await iterator.return?.()
    }
  }
}

/** Ends a wait for bytes after a time without any. */
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
      // Check the socket once more: if this process was blocked, its timers are due before its input is read.
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

// The certificate is not trusted or belongs to another host. A retry does not help.
const UNTRUSTED = /CERT|UNABLE_TO_GET_ISSUER|UNABLE_TO_VERIFY/

function networkFailure(error: unknown, target: string, what: string): Error {
  if (isFailure(error)) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== undefined && UNTRUSTED.test(code)) {
    const sentence = `the certificate of ${target} is not trusted (${code}); set NODE_EXTRA_CA_CERTS to the file of its authority`
    return Object.assign(failure('misconfigured', sentence), { cause: error })
  }
  return Object.assign(failure('unreachable', `${target} ${what} (${code ?? message})`), { cause: error })
}
