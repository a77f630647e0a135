/** Reads from the headers and the body of an error when to retry. */
import type { IncomingHttpHeaders } from 'node:http'

// Such as `anthropic-ratelimit-tokens-reset`, `x-ratelimit-reset-tokens`, OpenRouter's `x-ratelimit-reset` and the `ratelimit-reset`
// of the IETF's drafts.
const RESET = /^(?:(?:anthropic|x)-)?ratelimit-(?:(.+)-)?reset(?:-(.+))?$/
// All of a limit in one header, in an earlier and a later draft: `limit=10, remaining=0, reset=30` and `"default";r=0;t=30`.
const RESET_PARAMETER = /\b(?:reset|t)=(\d+)/g
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
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const exact = Number.parseFloat(text(headers[name]))
    if (exact >= 0) return Math.ceil(exact)
  }
  return msUntil(text(headers['retry-after']), now) ?? resetMs(headers, now)
}

function resetMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const all: number[] = []
  const usedUp: number[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'ratelimit')
      usedUp.push(...[...text(value).matchAll(RESET_PARAMETER)].map(([, seconds]) => Number(seconds) * 1000))
    const [whole, before, after] = RESET.exec(name) ?? []
    if (whole === undefined) continue
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

/** Such as Codex' `resets_in_seconds`, Google's `retryDelay` and `quotaResetDelay`, and `retry_after`. */
const BODY_FIELD =
  /^(?:quota_?)?(?:resets?|retry)_?(?:in|at|after|delay)(?:_?(seconds|secs|ms|milliseconds|minutes))?$|^x-ratelimit-reset|^retry-after(?:-(ms))?$/i
const SENTENCE =
  /(?:(?:try|retry|available|resets?)(?:ing)?(?: again)? (?:in|after)|\bwait(?: for)?) ((?:\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])[ ,]*)+)/i
const LEVELS_MAX = 6

/** Milliseconds from `now`; undefined if the body does not say. A field wins over the words of a message. */
export function bodyRetryAfterMs(body: unknown, now: number): number | undefined {
  const fields = fieldsIn(body, 0)
  const times = fields.flatMap(([name, value]) => {
    const [, unit, header] = BODY_FIELD.exec(name) ?? []
    const isText = typeof value === 'string' && value.length <= 40
    if (unit === undefined && header === undefined && !BODY_FIELD.test(name)) return []
    if (typeof value !== 'number' && !isText) return []
    const ms = msUntil(String(value).trim(), now)
    return ms === undefined ? [] : [scaled(ms, Number(value), unit ?? header)]
  })
  if (times.length > 0) return Math.max(...times)
  const words = fields.flatMap(([, value]) => (typeof value === 'string' ? [SENTENCE.exec(value)?.[1]] : []))
  const said = words.find((found) => found !== undefined)
  return said === undefined ? undefined : msUntil(abbreviated(said), now)
}

/** `ms`: the value read as seconds. */
function scaled(ms: number, value: number, unit: string | undefined): number {
  if (Number.isNaN(value)) return ms
  if (unit?.startsWith('m') !== true) return ms
  return unit.startsWith('min') ? value * 60_000 : value
}

function abbreviated(duration: string): string {
  return duration
    .toLowerCase()
    .replaceAll(/milliseconds?/g, 'ms')
    .replaceAll(/(\d) ?(s|m|h|d)(?!s)[a-z]*/g, '$1$2')
    .replaceAll(/[ ,]+/g, '')
}

/** The fields of an untrusted body, also of an error in an error's text. */
function fieldsIn(value: unknown, level: number): [name: string, value: unknown][] {
  if (level === LEVELS_MAX || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]): [string, unknown][] => [
    [name, inner],
    ...fieldsIn(inner, level + 1),
  ])
}

function text(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? (value[0] ?? '') : (value ?? '')).trim()
}
