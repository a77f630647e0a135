/**
 * JSON-RPC with an agent over its stdin and stdout.
 *
 * Invariants:
 * - At most one of our requests is open at a time.
 * - The caller sees the agent's messages in the order in which they were written.
 * - An answer that matches no open request is ignored.
 *
 * Only the types of the protocol's SDK are used. The SDK itself answers every line that is not a message with an
 * error, rejects updates newer than itself, and takes 30 ms to load.
 */
import type { AnyMessage, ErrorResponse } from '@agentclientprotocol/sdk'
import type { JsonObject } from 'substrat/provider'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import type { JsonProgram } from '../../shared/src/program/program.js'

/** A notification, or with an `id` a request, which needs an answer. */
export interface Incoming {
  id: RequestId | undefined
  method: string
  params: JsonObject
}

export type RequestId = string | number

/** Waiting for an answer ends after `timeoutMs`, or when `signal` is aborted. */
export interface Bounds {
  timeoutMs: number
  signal: AbortSignal
}

const METHOD_NOT_FOUND: ErrorResponse = { code: -32601, message: 'Method not found' }

export class Connection {
  private readonly messages: AsyncIterator<JsonObject>
  private lastId = -1

  constructor(private readonly program: JsonProgram) {
    this.messages = program.messages()[Symbol.asyncIterator]()
  }

  /** Yields the agent's messages until it answers, and returns the answer. Throws `AgentError` or `AgentEnded`. */
  async *call(method: string, params: object, bounds?: Bounds): AsyncGenerator<Incoming, JsonObject> {
    const id = ++this.lastId
    this.write({ jsonrpc: '2.0', id, method, params })
    for (;;) {
      const next = this.messages.next()
      const result = await (bounds === undefined ? next : answerWithin(next, method, bounds))
      if (result.done === true) throw new AgentEnded(method)
      const message = result.value
      if (typeof message.method === 'string') yield incomingOf(message.method, message)
      else if (message.id === id) return answerIn(message)
    }
  }

  /** Returns only the answer: earlier notifications are ignored, and requests are refused. */
  async ask(method: string, params: object, bounds: Bounds): Promise<JsonObject> {
    const call = this.call(method, params, bounds)
    for (;;) {
      const result = await call.next()
      if (result.done === true) return result.value
      if (result.value.id !== undefined) this.refuse(result.value.id)
    }
  }

  notify(method: string, params: object): void {
    this.write({ jsonrpc: '2.0', method, params })
  }

  answer(id: RequestId, result: object): void {
    this.write({ jsonrpc: '2.0', id, result })
  }

  refuse(id: RequestId): void {
    this.write({ jsonrpc: '2.0', id, error: METHOD_NOT_FOUND })
  }

  private write(message: AnyMessage): void {
    this.program.write(message)
  }
}

/** The agent answered with an error. */
export class AgentError extends Error {
  constructor(
    readonly code: number,
    message: string,
    /** The agent's own name of the error, if it sends one: the protocol defines none. */
    readonly kind = '',
  ) {
    super(message)
  }
}

/** The agent's output ended before its answer. */
export class AgentEnded extends Error {
  constructor(readonly method: string) {
    super(`it ended before it answered ${method}`)
  }
}

export class TimedOut extends Error {
  constructor(
    readonly method: string,
    readonly ms: number,
  ) {
    super(`it has not answered ${method} after ${ms} ms`)
  }
}

function incomingOf(method: string, { id, params }: JsonObject): Incoming {
  const isRequest = typeof id === 'string' || typeof id === 'number'
  return { id: isRequest ? id : undefined, method, params: objectOf(params) ?? {} }
}

function answerIn({ error, result }: JsonObject): JsonObject {
  if (error === undefined || error === null) return objectOf(result) ?? {}
  const { code, message, data } = objectOf(error) ?? {}
  const details = objectOf(data)
  const said = [textOf(message), textOf(data), textOf(details?.message), textOf(details?.details)]
  const sentences = [...new Set(said.filter((text) => text !== undefined && text.trim() !== ''))]
  const kind = textOf(details?.errorName)
  throw new AgentError(
    typeof code === 'number' ? code : 0,
    sentences.join(': ') || 'an error without a message',
    kind,
  )
}

async function answerWithin<T>(
  promise: Promise<T>,
  method: string,
  { timeoutMs, signal }: Bounds,
): Promise<T> {
  let stop = (): void => undefined
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    timer = setTimeout(() => reject(new TimedOut(method, timeoutMs)), timeoutMs)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
  })
  // If the race ends first, a later rejection of `promise` must not count as unhandled.
  promise.catch(() => undefined)
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
