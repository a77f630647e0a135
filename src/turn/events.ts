/**
 * A provider's stream, read so that nothing a provider does can hold or break a turn: it may hang, throw, end early or
 * yield what is not in the contract.
 */
import { limits } from '../limits.js'
import { providerFailure } from '../provider/failure.js'
import type { Usage } from '../session/records.js'

/** How long a provider that was told to stop is waited for. */
const STOP_GRACE_MS = 3000

/** The stream's events until it ends, or until shortly after `signal` is aborted, whether or not it takes notice. */
export async function* untilStopped<T>(stream: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]()
  const stopped = whenAborted(signal)
  try {
    for (;;) {
      const next = iterator.next()
      next.catch(() => undefined)
      const result = await Promise.race([next, stopped])
      if (result === 'stopped' || result.done === true) return
      yield result.value
    }
  } finally {
    // A generator that is stuck in an await never settles its return(), so this is bounded too.
    await withinGrace(Promise.resolve(iterator.return?.(undefined)).catch(() => undefined))
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

function whenAborted(signal: AbortSignal): Promise<'stopped'> {
  return new Promise((resolve) => {
    // The provider gets its chance to end by itself first: what it says then is better than silence.
    const later = (): void => void setTimeout(resolve, STOP_GRACE_MS, 'stopped').unref()
    if (signal.aborted) later()
    else signal.addEventListener('abort', later, { once: true })
  })
}
