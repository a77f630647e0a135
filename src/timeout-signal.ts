/**
 * A signal that aborts after `ms`. Unlike `AbortSignal.timeout`, its timer holds a reference to it: in Node 20, a timeout
 * signal that only `AbortSignal.any` references is garbage-collected and never fires.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms).unref()
  return controller.signal
}
