/**
 * Keeps the end of a program's output. The exit can be reported before the last output is read, so call
 * `untilSettled` before you build a failure.
 */

/** Output is complete after this time of silence, even if processes left running hold the pipes. */
export const QUIET_MS = 200
/** Maximum time to wait for output that does not end. */
const SETTLE_MS = 2000

export interface Tail {
  text(): string
  /** Resolves when everything written before this call is read: at the end of the pipes, or when they are silent. */
  untilSettled(): Promise<void>
}

export function keepTail(streams: NodeJS.ReadableStream[], bytesKept: number): Tail {
  let kept = Buffer.alloc(0)
  let bytes = 0
  let isOver = false
  const hear = (piece: Buffer): void => {
    bytes += piece.length
    kept = Buffer.concat([kept, piece]).subarray(-bytesKept)
  }
  const over = Promise.all(streams.map((stream) => endOf(stream.on('data', hear)))).then(() => {
    isOver = true
  })
  return {
    text: () => kept.toString('utf8'),
    async untilSettled() {
      const end = monotonic() + SETTLE_MS
      for (let before = -1; !isOver && before !== bytes && monotonic() < end; ) {
        before = bytes
        await Promise.race([over, sleepUnref(QUIET_MS)])
      }
    },
  }
}

function endOf(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.on(event, () => resolve())
  })
}

/** Pauses, then checks the pipes once: if this process was blocked, its timers are due before its input is read. */
export function sleepUnref(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => setImmediate(() => setImmediate(resolve)), ms).unref()
  })
}

/** Milliseconds since an arbitrary moment. Not `performance.now()`: the first use loads its module, which takes 1.5 ms. */
export function monotonic(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
