/**
 * Waits for a condition, never for a fixed time, because machines differ in speed. If the condition never holds, this
 * fails before the test's timeout, with a message that names the condition.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Less than the timeout of a test (vitest.config.ts), so that the failure names the condition. */
export const HANG_MS = 5 * 60_000

/** `timeoutMs` is for labs, which count cases that take longer. `firstPauseMs` is for conditions that cost a process. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string),
  timeoutMs = HANG_MS,
  firstPauseMs = 2,
): Promise<void> {
  const end = performance.now() + timeoutMs
  for (let pauseMs = firstPauseMs; !(await condition()); pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (performance.now() > end)
      throw new Error(`waited ${timeoutMs} ms in vain for ${typeof what === 'string' ? what : what()}`)
    await sleep(pauseMs)
  }
}
