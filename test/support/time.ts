/**
 * Time under the test's control. A program's grace period is held, so that a slow machine does not use it up. The test
 * says when one expires.
 */
import { onTestFinished, vi } from 'vitest'
import { clock } from '../../src/clock.js'

/** Stops the monotonic clock until the end of the test, except for `pass`. */
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

/** Timers of at least this length are graces of programs. Within a grace a program may be slow. */
export const GRACE_MS = 300

export interface HeldTimers {
  /** The number of pending timers of this length. */
  pending(ms: number): number
  /** Fires the timers of this length. */
  fire(ms: number): void
  /** From now on timers run normally; held timers stay held. */
  release(): void
}

/** Until the end of the test, timers of at least `fromMs` run only by `fire`; shorter ones run normally. */
export function holdTimers(fromMs: number): HeldTimers {
  const { setTimeout: start, clearTimeout: clear } = globalThis
  const held = new Map<unknown, { ms: number; run: () => void }>()
  const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout => {
    if (ms < fromMs) return start(run, ms, ...given)
    // A real handle, which can be unreferenced and cleared, and expires after the end of any test.
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
