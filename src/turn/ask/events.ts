/**
 * A provider's stream, read so that nothing a provider does can hold or break a turn: it may hang, throw, end early or
 * yield what is not in the contract.
 */
import { inspect } from 'node:util'
import { limits } from '../../limits.js'
import { providerFailure } from '../../provider/failure.js'
import type { Usage } from '../../session/fields.js'
import type { UncaughtErrors } from './uncaught-errors.js'

/** How long a provider that was told to stop is waited for. */
const STOP_GRACE_MS = 3000

/** What ends a turn though the provider goes on. */
export interface TurnEnds {
  signal: AbortSignal
  uncaught: UncaughtErrors
}

/** The stream's events until it ends, or until shortly after the turn is stopped, whether or not it takes notice. */
export async function* untilStopped<T>(stream: AsyncIterable<T>, ends: TurnEnds): AsyncGenerator<T> {
  if (typeof stream?.[Symbol.asyncIterator] !== 'function') throw offContract('a turn that is no stream')
  const iterator = stream[Symbol.asyncIterator]()
  const over = new AbortController()
  const ended = whenEnded(ends, over.signal)
  let isDone = false
  try {
    for (;;) {
      const result = await firstOf(iterator.next(), ended)
      isDone = result === STOPPED || result.done === true
      // It had its grace; a generator that is stuck in an await never settles its return() either.
      if (result === STOPPED) void letReturn(iterator)
      if (result === STOPPED || result.done === true) return
      yield result.value
    }
  } finally {
    if (!isDone) await withinGrace(letReturn(iterator))
    over.abort()
  }
}

/** What the provider promised; a failure where the turn is stopped first. */
export async function orStopped<T>(promise: Promise<T>, ends: TurnEnds): Promise<T> {
  const over = new AbortController()
  try {
    const result = await firstOf(promise, whenEnded(ends, over.signal))
    if (result === STOPPED) throw endedEarly()
    return result
  } finally {
    over.abort()
  }
}

/** Whichever settles first; what the promise does later is nobody's business. */
function firstOf<T>(promise: Promise<T>, ended: Promise<typeof STOPPED>): Promise<T | typeof STOPPED> {
  const settled = Promise.resolve(promise)
  settled.catch(() => undefined)
  return Promise.race([settled, ended])
}

async function letReturn(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.(undefined)
  } catch {
    // Its turn is over; how it ended is decided.
  }
}

export async function withinGrace<T>(promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, STOP_GRACE_MS, undefined)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What a turn gathers from the events: the reply's pieces, bounded, and the usage. */
export class Gathered {
  private readonly pieces: string[] = []
  private bytes = 0
  usage: Usage | null = null

  get text(): string {
    return this.pieces.join('')
  }

  /** As a failure has it. */
  get used(): { usage?: Usage } {
    return this.usage === null ? {} : { usage: this.usage }
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

  count(usage: unknown): void {
    const { input_tokens, output_tokens } = (usage ?? {}) as Partial<Usage>
    if (!Number.isSafeInteger(input_tokens) || !Number.isSafeInteger(output_tokens))
      throw offContract('a usage event without counts')
    this.usage = { input_tokens: input_tokens as number, output_tokens: output_tokens as number }
  }
}

export function offContract(what: string): Error {
  return providerFailure('crashed', `the provider broke its contract: ${what}`)
}

export function endedEarly(): Error {
  return providerFailure('crashed', 'the provider ended without an answer')
}

const STOPPED = Symbol('stopped')

/** Rejects at once for an uncaught error. Once `over`, nothing listens any more: a turn has many requests, and one signal. */
function whenEnded({ signal, uncaught }: TurnEnds, over: AbortSignal): Promise<typeof STOPPED> {
  const stopped = new Promise<typeof STOPPED>((resolve) => {
    // The provider gets its chance to end by itself first: what it says then is better than silence.
    const startGrace = (): void => void setTimeout(resolve, STOP_GRACE_MS, STOPPED).unref()
    if (signal.aborted) startGrace()
    else signal.addEventListener('abort', startGrace, { once: true, signal: over })
  })
  const ended = Promise.race([stopped, uncaught.first])
  ended.catch(() => undefined)
  return ended
}

/** An event that the contract does not have, for a sentence. */
export function shownEvent(event: unknown): string {
  return inspect(event, { depth: 1, breakLength: Number.POSITIVE_INFINITY }).slice(0, 100)
}
