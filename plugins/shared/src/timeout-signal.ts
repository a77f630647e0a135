/**
 * A signal that is aborted after so long. Its timer holds it. That of `AbortSignal.timeout` does not: Node 20 collects such a
 * signal where only `AbortSignal.any` knows of it, and it never comes.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(), ms).unref()
  return controller.signal
}
