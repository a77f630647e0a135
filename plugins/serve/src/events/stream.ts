/**
 * One client of a stream of server-sent events. The client pulls: nothing is read for it before it has taken what it was given,
 * so that a client has at most one chunk in memory. A client that does not read is closed. Its cursor is the last id it has.
 */
import type { Coded } from '../../../shared/src/face/face-error.js'
import { codedError, problemOf } from '../problem.js'

/** Why a stream ends early. */
export type Why = 'slow' | 'stopping' | 'failed' | 'revoked'

/** The events of one client. */
export interface Source {
  /** What to send next; undefined if there is nothing now. Throws if the stream cannot continue. */
  next(): Buffer | undefined
  /** The place from which the client can continue. Absent if it cannot. */
  cursor?(): object
  /** Whether the stream is complete once `next` has nothing. */
  readonly isComplete?: boolean
  /** What to send if the stream ends early; default: the event `closed`. */
  last?(reason: Why, error: Coded | undefined): Buffer
  /** Whether the client has only the beginning of an event. */
  readonly isWithinEvent?: boolean
  /** Calls back whenever there may be something to send. */
  start(wake: () => void): void
  stop(): void
}

interface Times {
  /** A comment is sent after this time without an event, so that both ends notice a dead connection. */
  heartbeatMs: number
  /** Close a client that reads nothing for this long. */
  stallMs: number
  /** How long it then has to take the event that says so. */
  lingerMs: number
}

const TIMES: Times = { heartbeatMs: 15_000, stallMs: 30_000, lingerMs: 10_000 }

export interface Connection {
  /** Aborted when the client is gone. */
  signal: AbortSignal
  /** Aborted when the server stops. */
  stopping: AbortSignal
  /** Aborted, with the reason, when the token of the request is revoked. */
  revoked: AbortSignal | undefined
  /** Ends the connection also if the client does not read. */
  cut(): void
}

/** How long a client waits before it comes back. */
const RETRY = 'retry: 1000\n\n'

/** As much is given to a client at once, or one event if that is larger. */
export const CHUNK_BYTES = 64 * 1024

/** Text of JSON has no line breaks. */
export function eventOf(event: string, data: string, id?: number): Buffer {
  return Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`)
}

export function eventResponse(source: Source, connection: Connection, times = TIMES): Response {
  return new Response(new EventStream(source, connection, times).body, {
    headers: {
      'content-type': 'text/event-stream',
      // Proxies must neither store nor collect the events.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    },
  })
}

class EventStream {
  readonly body: ReadableStream<Uint8Array>
  private controller!: ReadableStreamDefaultController<Uint8Array>
  private isOpen = true
  private wake: (isWoken: boolean) => void = () => undefined
  private stalled: NodeJS.Timeout | undefined
  private readonly onStopping = () => this.end('stopping')
  private readonly onRevoked = () => {
    const error = codedError(this.connection.revoked?.reason)
    // Or the list of tokens cannot be read.
    this.end(error.code === 'UNAUTHORIZED' ? 'revoked' : 'failed', error)
  }
  private readonly onGone = () => this.close()

  constructor(
    private readonly source: Source,
    private readonly connection: Connection,
    private readonly times: Times,
  ) {
    const { signal, stopping, revoked } = connection
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller
          if (source.cursor !== undefined) controller.enqueue(Buffer.from(RETRY))
        },
        pull: () => this.pull(),
        cancel: () => this.close(),
      },
      { highWaterMark: 0 },
    )
    source.start(() => this.wake(true))
    stopping.addEventListener('abort', this.onStopping, { once: true })
    signal.addEventListener('abort', this.onGone, { once: true })
    revoked?.addEventListener('abort', this.onRevoked, { once: true })
    if (signal.aborted) this.close()
    if (stopping.aborted) this.end('stopping')
    if (revoked?.aborted === true) this.onRevoked()
  }

  /** Called when the client has taken everything. */
  private async pull(): Promise<void> {
    clearTimeout(this.stalled)
    while (this.isOpen) {
      try {
        const bytes = this.source.next()
        if (bytes !== undefined) return this.give(bytes)
        if (this.source.isComplete === true) return this.finish()
      } catch (error) {
        return this.end('failed', codedError(error))
      }
      if (!(await this.news()) && this.isOpen) return this.give(Buffer.from(':\n\n'))
    }
  }

  private give(bytes: Buffer): void {
    this.controller.enqueue(bytes)
    this.stalled = setTimeout(() => this.end('slow'), this.times.stallMs)
  }

  /** False after the time for a heartbeat. */
  private news(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), this.times.heartbeatMs)
      this.wake = (isWoken) => {
        clearTimeout(timer)
        resolve(isWoken)
      }
    })
  }

  /** The last event says why the stream ends and where the client continues. */
  private end(reason: Why, error?: Coded): void {
    if (!this.isOpen) return
    // Clients ignore the beginning of an event that has no end.
    if (this.source.isWithinEvent !== true) this.controller.enqueue(this.lastEvent(reason, error))
    this.finish()
    setTimeout(() => this.connection.cut(), this.times.lingerMs).unref()
  }

  private lastEvent(reason: Why, error: Coded | undefined): Buffer {
    const { source } = this
    if (source.last !== undefined) return source.last(reason, error)
    const problem = error === undefined ? null : problemOf(error)
    return eventOf('closed', JSON.stringify({ reason, ...source.cursor?.(), problem }))
  }

  private finish(): void {
    this.close()
    this.controller.close()
  }

  private close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    clearTimeout(this.stalled)
    const { signal, stopping, revoked } = this.connection
    stopping.removeEventListener('abort', this.onStopping)
    signal.removeEventListener('abort', this.onGone)
    revoked?.removeEventListener('abort', this.onRevoked)
    this.source.stop()
    this.wake(false)
  }
}
