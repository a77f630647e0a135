/** One attempt over HTTP. The reason of a failure has neither the URL nor the answer: both may have secrets. */
import { limits } from '../limits.js'
import { timeoutSignal } from '../timeout-signal.js'
import type { Request } from './event.js'
import type { Attempt } from './target.js'

/** Statuses below 500 after which another attempt may succeed: request timeout, too early, too many requests. */
const TRY_AGAIN = [408, 425, 429]

export async function postOnce(
  { url, headers, body }: Request,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Attempt> {
  const timeout = timeoutSignal(timeoutMs)
  try {
    const ends = AbortSignal.any([signal, timeout])
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: ends })
    // The connection is free for the next message, or closed.
    await response.body?.cancel().catch(() => undefined)
    return answer(response)
  } catch (error) {
    if (signal.aborted) return { outcome: 'unknown' }
    if (timeout.aborted) return { outcome: 'failed', why: `it did not answer within ${timeoutMs / 1000} s` }
    return { outcome: 'failed', why: `it cannot be reached: ${codeOf(error)}` }
  }
}

function answer({ ok, status, headers }: Response): Attempt {
  if (ok) return { outcome: 'accepted' }
  const why = `it answered with status ${status}`
  if (status < 500 && !TRY_AGAIN.includes(status)) return { outcome: 'refused', why }
  const retryAfterMs = delayIn(headers.get('retry-after'), Date.now())
  return { outcome: 'failed', why, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

/** The header Retry-After: seconds, or a date. */
export function delayIn(header: string | null, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (text === '') return undefined
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), limits.outboundRetryAfterMsMax)
}

function codeOf(error: unknown): string {
  const { cause, name } = Object(error) as { cause?: { code?: unknown }; name?: unknown }
  return typeof cause?.code === 'string' ? cause.code : String(name)
}
