/**
 * Reads a provider's stream. A provider that hangs, throws, ends early or yields events outside the contract must not hang
 * or crash the turn.
 */

import { inspect } from 'node:util'
import { settledWithin } from '../../clock.js'
import { limits } from '../../limits.js'
import { providerFailure } from '../../provider/failure.js'
import type { Used } from '../../schema/types.js'
import type { UncaughtErrors } from './uncaught-errors.js'
import { modelOf, usageOf, usedOf } from './used.js'

/** How long a provider has to end after a stop. */
const STOP_GRACE_MS = 3000

/** The causes that end a turn while its provider still runs. */
export interface TurnEnds {
  signal: AbortSignal
  uncaught: UncaughtErrors
}

/** Yields the stream's events until it ends. After a stop the provider has a grace period, then the stream is abandoned. */
export async function* untilStopped<T>(stream: AsyncIterable<T>, ends: TurnEnds): AsyncGenerator<T> {
  if (typeof stream?.[Symbol.asyncIterator] !== 'function') throw offContract('a turn that is not a stream')
  const iterator = stream[Symbol.asyncIterator]()
  const { ended, forget } = whenEnded(ends)
  let isDone = false
  try {
    for (;;) {
      const result = await firstOf(iterator.next(), ended)
      isDone = result === STOPPED || result.done === true
      // No second grace period: a generator stuck in an await never settles its return() either.
      if (result === STOPPED) void letReturn(iterator)
      if (result === STOPPED || result.done === true) return
      yield result.value
    }
  } finally {
    if (!isDone) await withinGrace(letReturn(iterator))
    forget()
  }
}

/** Awaits a provider's promise. Throws if the turn is stopped first. */
export async function orStopped<T>(promise: Promise<T>, ends: TurnEnds): Promise<T> {
  const { ended, forget } = whenEnded(ends)
  try {
    const result = await firstOf(promise, ended)
    if (result === STOPPED) throw endedEarly()
    return result
  } finally {
    forget()
  }
}

/** Settles as the first of the two does. A later rejection of `promise` is ignored. */
function firstOf<T>(promise: Promise<T>, ended: Promise<typeof STOPPED>): Promise<T | typeof STOPPED> {
  const settled = Promise.resolve(promise)
  settled.catch(() => undefined)
  return Promise.race([settled, ended])
}

async function letReturn(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.(undefined)
  } catch {
    // The turn's outcome is decided already.
  }
}

export function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  return settledWithin(promise, STOP_GRACE_MS)
}

/** Collects the reply's text, with a size bound, and the usage. */
export class Gathered {
  private readonly pieces: string[] = []
  private bytes = 0
  /** The latest usage, with its model or models. */
  used: Used & { model?: string } = {}

  get text(): string {
    return this.pieces.join('')
  }

  add(text: unknown): string {
    if (typeof text !== 'string') throw offContract('a text event without text')
    this.bytes += Buffer.byteLength(text)
    if (this.bytes > limits.replyBytesMax) {
      throw providerFailure('crashed', `the reply is larger than ${limits.replyBytesMax} bytes`)
    }
    this.pieces.push(text)
    return text
  }

  /** The usage of a request to a model. */
  countRequest(event: { usage: unknown; model?: unknown }): void {
    const usage = usageOf(event.usage)
    if (usage === undefined) throw offContract('a usage event without counts')
    const model = modelOf(event.model)
    this.used = model === undefined ? { usage } : { usage, model }
  }

  /** The usage of a program's turn. */
  countTurn(event: { usage: unknown; model?: unknown; models?: unknown }): void {
    const used = usedOf(event)
    if (used === undefined) throw offContract('a usage event without counts')
    this.used = used
  }
}

export function offContract(what: string): Error {
  return providerFailure('crashed', `the provider broke its contract: ${what}`)
}

export function endedEarly(): Error {
  return providerFailure('crashed', 'the provider ended without an answer')
}

const STOPPED = Symbol('stopped')

interface WhenEnded {
  /** Rejects at once for an uncaught error. */
  ended: Promise<typeof STOPPED>
  /** Removes the listener: a turn has many requests but only one signal. */
  forget(): void
}

function whenEnded({ signal, uncaught }: TurnEnds): WhenEnded {
  let stop: (stopped: typeof STOPPED) => void = () => undefined
  const stopped = new Promise<typeof STOPPED>((resolve) => {
    stop = resolve
  })
  // The provider may end by itself first: its last words are better than none.
  const startGrace = (): void => void setTimeout(stop, STOP_GRACE_MS, STOPPED).unref()
  if (signal.aborted) startGrace()
  else signal.addEventListener('abort', startGrace, { once: true })
  const ended = Promise.race([stopped, uncaught.first])
  ended.catch(() => undefined)
  return { ended, forget: () => signal.removeEventListener('abort', startGrace) }
}

/** A short form of an event, for an error message. */
export function shownEvent(event: unknown): string {
  return inspect(event, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, 100)
}
