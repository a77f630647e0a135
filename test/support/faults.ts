/** Faults at named steps of storage, taken out again when their test is over. */
import { onTestFinished } from 'vitest'
import { type FaultHook, type Operation, setFaultHook } from '../../src/host/disk/operation.js'

export function withFaults(hook: FaultHook): void {
  setFaultHook(hook)
  onTestFinished(() => setFaultHook(undefined))
}

/** Each operation that `matches` fails with `errno`; the first `times` of them. */
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

/** How often a lock has been tried from now on: whoever waits for one tries it again and again. */
export function countLockTries(): () => number {
  let tries = 0
  withFaults(({ point }) => {
    if (point === 'lock.open') tries += 1
    return undefined
  })
  return () => tries
}
