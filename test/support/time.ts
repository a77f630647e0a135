/**
 * Time as the test gives it. A grace that a program has to react in is held, so that a slow machine does not use it up; one
 * that is to run out does so when the test says so.
 */
import { onTestFinished, vi } from 'vitest'
import { clock } from '../../src/clock.js'

/** Until the end of the test the monotonic clock stands still, but for what `pass` adds. */
export function holdClock(): { pass(ms: number): void } {
  const { monotonic } = clock
  let at = monotonic()
  clock.monotonic = () => at
  onTestFinished(() => void Object.assign(clock, { monotonic }))
  return {
    pass: (ms) => {
      at += ms
    },
  }
}

/** Timers of this length and more are the graces of programs: what a program does in one, it does however slow the machine is. */
export const GRACE_MS = 300

export interface HeldTimers {
  /** How many timers of this length are set and not cleared. */
  pending(ms: number): number
  /** Lets those of this length run. */
  fire(ms: number): void
  /** From now on timers run as ever; those that are held stay so. */
  release(): void
}

/** Until the end of the test timers of `fromMs` and more run only by `fire`; shorter ones run as ever. */
export function holdTimers(fromMs: number): HeldTimers {
  const { setTimeout: start, clearTimeout: clear } = globalThis
  const held = new Map<unknown, { ms: number; run: () => void }>()
  const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout => {
    if (ms < fromMs) return start(run, ms, ...given)
    // A handle as any other, which may be unreferenced and cleared; it comes to its end after any test.
    const handle = start(() => undefined, 2 ** 31 - 1).unref()
    held.set(handle, { ms, run: () => run(...given) })
    return handle
  }
  const forget = (handle: NodeJS.Timeout): void => {
    held.delete(handle)
    clear(handle)
  }
  const spies = [
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(set as typeof setTimeout),
    vi.spyOn(globalThis, 'clearTimeout').mockImplementation(forget as typeof clearTimeout),
  ]
  const release = (): void => {
    for (const spy of spies) spy.mockRestore()
  }
  onTestFinished(() => {
    release()
    for (const handle of held.keys()) clear(handle as NodeJS.Timeout)
  })
  const ofLength = (length: number): [unknown, () => void][] =>
    [...held].flatMap(([handle, { ms, run }]) => (ms === length ? [[handle, run]] : []))
  return {
    release,
    pending: (ms) => ofLength(ms).length,
    fire: (ms) => {
      for (const [handle, run] of ofLength(ms)) {
        forget(handle as NodeJS.Timeout)
        run()
      }
    },
  }
}
