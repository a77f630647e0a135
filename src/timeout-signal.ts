/**
 * A signal that is aborted after so long. Its timer holds it: that of `AbortSignal.timeout` does not, and one that only
 * `AbortSignal.any` knows of is garbage at once, and never fires (seen in Node 20).
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms).unref()
  return controller.signal
}
