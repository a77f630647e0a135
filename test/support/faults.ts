/** Faults at named storage steps, removed when the test is over. */
import { onTestFinished } from 'vitest'
import { type FaultHook, type Operation, setFaultHook } from '../../src/host/disk/operation.js'

export function withFaults(hook: FaultHook): void {
  setFaultHook(hook)
  onTestFinished(() => setFaultHook(undefined))
}

/** Each matching operation fails with `errno`; at most the first `times` of them. */
export function failing(
  errno: string,
  matches: (operation: Operation) => boolean,
  times = Number.POSITIVE_INFINITY,
): FaultHook {
  let left = times
  return (operation) => {
    if (left <= 0 || !matches(operation)) return undefined
    left -= 1
    throw Object.assign(new Error(errno), { code: errno })
  }
}

/** Counts the attempts to take a lock from now on. A waiting process tries again and again. */
export function countLockTries(): () => number {
  let tries = 0
  withFaults(({ point }) => {
    if (point === 'lock.open') tries += 1
    return undefined
  })
  return () => tries
}
