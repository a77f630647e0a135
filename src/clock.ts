export interface Clock {
  /** The wall clock. Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since an arbitrary moment. Not affected by changes of the wall clock. */
  monotonic(): number
  /** When this process started, as the wall clock says now. A process runs one command. */
  beganAt: number
  /** Milliseconds since the machine booted. Undefined: ask the kernel. */
  uptime?: () => number
}

/** The only clock, so that tests and the fuzzer can set it. */
export const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // The bundle runs this module at its first use.
  beganAt: Date.now() - process.uptime() * 1000,
}

/** The later of now and `floor`, in ISO 8601. A clock that is set back never makes the times in a log decrease. */
export function timestampAfter(floor: string | undefined): string {
  const now = new Date(clock.now()).toISOString()
  return floor !== undefined && floor > now ? floor : now
}

/**
 * A time that the user wrote, in the form in which it is stored. Without a zone it is local, also a date alone. Undefined if it is not a date in ISO 8601, or not in the
 * years 0 to 9999: stored times have a four-digit year, so that they compare as strings.
 */
export function parseTime(text: string): string | undefined {
  // JavaScript takes a date without a time as UTC, and one with a time as local.
  const local = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text
  const at = isDay(text.slice(0, 10)) ? Date.parse(local) : Number.NaN
  const iso = Number.isNaN(at) ? '' : new Date(at).toISOString()
  return /^\d{4}-/.test(iso) ? iso : undefined
}

/** Whether the calendar has this day, as in 2026-11-20. JavaScript takes the 30th of February as the 2nd of March. */
function isDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  const at = new Date(0)
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** A stored time for a person: local, to the second, with its zone: `2026-11-20 11:00:00+01:00`, and `Z` in UTC. */
export function readableTime(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  const date = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(two).join('-')
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}${zoneAt(at)}`
}

/** The same text with each `readableTime` in it as ISO 8601 in UTC, for JSON. */
export function withUtcTimes(text: string): string {
  return text.replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(Z|[+-]\d\d:\d\d)/g, (whole, date, time, zone) => {
    const at = new Date(`${date}T${time}${zone}`)
    return Number.isNaN(at.getTime()) ? whole : at.toISOString().replace('.000Z', 'Z')
  })
}

/** The reverse of `withUtcTimes`, for people. */
export function withReadableTimes(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, readableTime)
}

/** The local zone at that time: `Z` or `+01:00`. */
export function zoneAt(at: Date): string {
  const minutes = -at.getTimezoneOffset()
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

function two(count: number): string {
  return String(count).padStart(2, '0')
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** The same with a timer that does not keep the process alive. */
export function sleepUnref(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref()
  })
}

/** Undefined if the promise does not settle in time. The timer keeps the process alive until then. */
export async function settledWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects with `why` if the promise does not settle in time. The timer keeps the process alive until then. */
export async function withTimeout<T>(promise: T | Promise<T>, ms: number, why: string | Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(typeof why === 'string' ? new Error(why) : why), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** A process that was stopped this long, or slept, notices it at its next step. */
const RUNNING_STEP_MS = 5000

/**
 * Calls back after this process has run for `ms`, and returns a function that ends the wait. Time in which the process was stopped
 * or the machine slept counts as one step at most: timers fall due at once after it, although nothing could work meanwhile.
 */
export function afterRunning(ms: number, onOver: () => void): () => void {
  let leftMs = ms
  let timer: NodeJS.Timeout
  const step = (): void => {
    const stepMs = Math.min(leftMs, RUNNING_STEP_MS)
    const began = clock.monotonic()
    timer = setTimeout(() => {
      const elapsedMs = clock.monotonic() - began
      // A busy machine delays a timer, and that time counts.
      leftMs -= elapsedMs < 2 * RUNNING_STEP_MS ? Math.max(elapsedMs, stepMs) : stepMs
      if (leftMs > 0) step()
      else onOver()
    }, stepMs)
  }
  step()
  return () => clearTimeout(timer)
}
