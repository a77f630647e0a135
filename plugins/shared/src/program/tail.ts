/**
 * The end of what a program writes to its pipes. Its exit may be told before its last words are read: a failure is composed
 * only after `untilSettled`.
 */

/** Output is whole once nothing came for so long, from what the program left running with its pipes. */
export const QUIET_MS = 200
/** And something that goes on writing is listened to no longer than this, for a message. */
const SETTLE_MS = 2000

export interface Tail {
  text(): string
  /** Resolves when all that was written before this call is read: at the end of the pipes, or when they are quiet. */
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
      const end = performance.now() + SETTLE_MS
      for (let before = -1; !isOver && before !== bytes && performance.now() < end; ) {
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

/** The pause, and then one look at the pipes: a process that was itself held up may find its timers due before its input. */
export function sleepUnref(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => setImmediate(() => setImmediate(resolve)), ms).unref()
  })
}
