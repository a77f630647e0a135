/**
 * Returns a signal that aborts after `ms`. Its timer holds a reference to it. With `AbortSignal.timeout`, Node 20
 * collects a signal that only `AbortSignal.any` refers to, and it never aborts.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms).unref()
  return controller.signal
}
