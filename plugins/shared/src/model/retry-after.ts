/** Reads from the headers of an answer when to retry. */
import type { IncomingHttpHeaders } from 'node:http'

// Such as `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-tokens` and OpenRouter's `x-ratelimit-reset`.
const RESET = /^(anthropic|x)-ratelimit-(?:(.+)-)?reset(?:-(.+))?$/
const DURATION_PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
// A larger number is a time in seconds since 1970, not a duration. Above a thousand times this, it is in
// milliseconds.
const EPOCH_SECONDS_MIN = 1_000_000_000

/**
 * Milliseconds from `now`; undefined if no header says. `retry-after-ms` and `retry-after` win over reset times.
 * Among reset times, returns the latest of the exhausted limits, or else the earliest of all.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const exact = Number.parseFloat(text(headers['retry-after-ms']))
  if (exact >= 0) return Math.ceil(exact)
  return msUntil(text(headers['retry-after']), now) ?? resetMs(headers, now)
}

function resetMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const all: number[] = []
  const usedUp: number[] = []
  for (const [name, value] of Object.entries(headers)) {
    const [, vendor, before, after] = RESET.exec(name) ?? []
    if (vendor === undefined) continue
    const ms = msUntil(text(value), now)
    if (ms === undefined) continue
    all.push(ms)
    if (Number.parseFloat(text(headers[name.replace('reset', 'remaining')])) === 0) usedUp.push(ms)
    else if (before === undefined && after === undefined) usedUp.push(ms)
  }
  if (usedUp.length > 0) return Math.max(...usedUp)
  return all.length > 0 ? Math.min(...all) : undefined
}

/** `value` is a number of seconds, a duration such as `6m0s`, or a date. Past times give 0. */
function msUntil(value: string, now: number): number | undefined {
  if (value === '') return undefined
  const number = Number(value)
  if (!Number.isNaN(number)) {
    if (number < 0) return undefined
    if (number < EPOCH_SECONDS_MIN) return Math.ceil(number * 1000)
    return Math.max(0, Math.ceil((number < EPOCH_SECONDS_MIN * 1000 ? number * 1000 : number) - now))
  }
  if (value.replace(DURATION_PART, '') === '') {
    const parts = [...value.matchAll(DURATION_PART)]
    return Math.ceil(
      parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNIT_MS[unit as string] ?? 0), 0),
    )
  }
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function text(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).trim()
}
