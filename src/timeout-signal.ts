import { sleep } from './clock.js'

/**
 * A signal that aborts after `ms`. Unlike `AbortSignal.timeout`, its timer holds a reference to it: in Node 20, a timeout
 * signal that only `AbortSignal.any` references is garbage-collected and never fires.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms).unref()
  return controller.signal
}

/** Ends early if the signal is aborted. */
export async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  let stop = (): void => undefined
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
    signal.addEventListener('abort', stop, { once: true })
  })
  await Promise.race([sleep(ms), stopped])
  signal.removeEventListener('abort', stop)
}
