export interface Clock {
  /** The wall clock. Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since some moment, whatever is done to the wall clock. */
  monotonic(): number
  /** When this process, which is one command, began. */
  beganAt: number
  /** Milliseconds since the machine was started; the kernel is asked where this is undefined. */
  uptime?: () => number
}

/** In one place so that a test or the fuzzer can turn it. */
export const clock: Clock = { now: () => Date.now(), monotonic, beganAt: Date.now() }

/** The global `performance` would load its module (src/start/README.md). */
function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/** ISO 8601 of the later of the clock and `floor`: a clock that was set back never makes a log run backwards. */
export function timestampAfter(floor: string | undefined): string {
  const now = new Date(clock.now()).toISOString()
  return floor !== undefined && floor > now ? floor : now
}

/**
 * A time that somebody wrote, as it is stored. Undefined for what is no date in ISO 8601, and outside of the years 0 to
 * 9999: stored times have four digits of a year, so that they compare as texts.
 */
export function parseTime(text: string): string | undefined {
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  const iso = Number.isNaN(at) ? '' : new Date(at).toISOString()
  return /^\d{4}-/.test(iso) ? iso : undefined
}

/** An ISO 8601 time for a person: to the second, in UTC and marked so. */
export function readableTime(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')}Z`
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** The promise, or a rejection with `why` where it has not settled in time; the timer keeps the process alive till then. */
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
