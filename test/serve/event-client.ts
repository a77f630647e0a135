/** A client of server-sent events, as a browser's EventSource but with a token: it comes back with the id of its last event. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface ServerEvent {
  event: string
  id: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape of its events
  data: any
}

export class EventClient {
  readonly events: ServerEvent[] = []
  /** How often the stream was opened, and how often it then ended or broke. */
  opened = 0
  ended = 0
  /** The status of the last answer that was not a stream. */
  refused: number | undefined
  lastId: string | undefined
  private readonly abort = new AbortController()
  private readonly done: Promise<void>

  /** `comesBack`: opens the stream again when it ends, until `close`. */
  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string>,
    private readonly comesBack = false,
    private readonly pauseMs = 20,
  ) {
    this.done = this.follow()
  }

  async close(): Promise<void> {
    this.abort.abort()
    await this.done
  }

  named(event: string): ServerEvent[] {
    return this.events.filter((each) => each.event === event)
  }

  /** The numbers of the records. */
  get seqs(): number[] {
    return this.named('record').map(({ id }) => Number(id))
  }

  private async follow(): Promise<void> {
    const { signal } = this.abort
    do {
      try {
        const cursor: Record<string, string> =
          this.lastId === undefined ? {} : { 'last-event-id': this.lastId }
        const response = await fetch(this.url, { signal, headers: { ...this.headers, ...cursor } })
        if (response.status === 200) {
          this.opened += 1
          await this.read(response.body as ReadableStream<Uint8Array>)
        } else {
          this.refused = response.status
          await response.arrayBuffer()
        }
      } catch {
        // The server was killed, or this client closed.
      }
      this.ended += 1
      if (this.comesBack && !signal.aborted) await sleep(this.pauseMs)
    } while (this.comesBack && !signal.aborted)
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const bytes of body) {
      const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
      // An event without its end was cut off.
      rest = blocks.pop() ?? ''
      for (const block of blocks) this.take(block)
    }
  }

  private take(block: string): void {
    const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    const [event, data, id] = [field('event'), field('data'), field('id')]
    if (event === undefined || data === undefined) return
    this.lastId = id ?? this.lastId
    this.events.push({ event, id, data: JSON.parse(data) })
  }
}
