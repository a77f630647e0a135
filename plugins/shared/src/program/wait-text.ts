/** Finds in a program's error text when its limit is reset. */

const UNIT_MS: [unit: RegExp, ms: number][] = [
  [/^(ms|millisecond)/, 1],
  [/^s/, 1000],
  [/^m/, 60_000],
  [/^h/, 3_600_000],
  [/^d/, 86_400_000],
]
const PART =
  /(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\b/gi
const EPOCH_SECONDS = /\b(1[5-9]\d{8}|[2-9]\d{9})\b/
const IN =
  /(?:try again|retry|resets?|available)\s+(?:after|in)\s+((?:\d+(?:\.\d+)?\s*[a-z]+[\s,]*(?:and\s+)?)+)/i
const RETRY_AFTER = /retry[-_ ]after["':\s]*(\d+(?:\.\d+)?)/i
const ISO = /\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/
const CLOCK = /(?:resets?|try again|available)\s+(?:at\s+)?(\d{1,2})(?::(\d\d))?\s*(am|pm)?\b/i

const ZONE = /\(((?:[A-Z][A-Za-z]+\/[\w/+-]+)|UTC)\)/
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Milliseconds from `now`; undefined if the text names no time. */
export function waitMs(text: string, now: number): number | undefined {
  const duration = IN.exec(text)?.[1]
  if (duration !== undefined) {
    const ms = durationMs(duration)
    if (ms !== undefined) return ms
  }
  const seconds = RETRY_AFTER.exec(text)?.[1]
  if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000)
  const epoch = EPOCH_SECONDS.exec(text)?.[1]
  if (epoch !== undefined) return Math.max(0, Number(epoch) * 1000 - now)
  const iso = Date.parse(ISO.exec(text)?.[0] ?? '')
  if (!Number.isNaN(iso)) return Math.max(0, iso - now)
  return clockMs(text, now)
}

function durationMs(text: string): number | undefined {
  const parts = [...text.matchAll(PART)]
  if (parts.length === 0) return undefined
  return Math.ceil(
    parts.reduce((sum, [, count, unit]) => {
      const known = UNIT_MS.find(([name]) => name.test((unit as string).toLowerCase()))
      return sum + Number(count) * (known?.[1] ?? 0)
    }, 0),
  )
}

/**
 * Finds times of day: `resets 3pm (Europe/Berlin)`, `try again at 5:26 PM`, `resets 15:00`. Returns the next end of
 * that minute, in that zone or the local one. The end, because the seconds are missing: during that minute, its
 * beginning would mean tomorrow. A bare number is not a time.
 */
function clockMs(text: string, now: number): number | undefined {
  const [, hour, minute, half] = CLOCK.exec(text) ?? []
  if (hour === undefined || (minute === undefined && half === undefined)) return undefined
  const hours =
    half === undefined ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
  if (hours > 23 || Number(minute ?? 0) > 59) return undefined
  const end = (hours * 60 + Number(minute ?? 0) + 1) * MINUTE_MS
  const left = end - timeOfDayMs(now, ZONE.exec(text)?.[1])
  return left > 0 ? left : left + DAY_MS
}

/** Time since midnight in that zone, or locally if the zone is unknown. */
function timeOfDayMs(now: number, timeZone: string | undefined): number {
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', timeStyle: 'medium' })
    const [hours, minutes, seconds] = format.format(now).split(/[:\s]/).map(Number) as [
      number,
      number,
      number,
    ]
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + (now % 1000)
  } catch {
    return timeOfDayMs(now, undefined)
  }
}
