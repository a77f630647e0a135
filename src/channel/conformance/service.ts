/** The service of one case as its checks use it. */
import type { Channel, ChannelConnection, IncomingMessage, OutgoingMessage, Received } from '../contract.js'
import { demand, PromiseBroken, type ServiceFixture } from './case.js'

/** More calls than a channel needs for the messages of a case. */
const CALLS_MAX = 50

/** The service, and the channel's connection to it. */
export class Service {
  connection: Promise<ChannelConnection>

  constructor(
    private readonly channel: Channel,
    readonly fixture: ServiceFixture,
  ) {
    this.connection = this.open()
  }

  private open(): Promise<ChannelConnection> {
    return this.channel.open({ options: this.fixture.options })
  }

  async close(): Promise<void> {
    const connection = await this.connection
    await connection.close()
  }

  async reconnect(): Promise<void> {
    await this.close()
    this.connection = this.open()
  }

  async receiveNow(cursor: string | null, waitMs = 0, messagesMax = 10): Promise<Received> {
    const connection = await this.connection
    return connection.receive({ cursor, waitMs, messagesMax }, new AbortController().signal)
  }

  /** The place after all messages so far. */
  async cursorNow(): Promise<string> {
    let { cursor, messages } = await this.receiveNow(null)
    for (let calls = 1; messages.length > 0; calls++) {
      demand(calls < CALLS_MAX, 'the cursor must lead to the end of the messages')
      ;({ cursor, messages } = await this.receiveNow(cursor))
    }
    return cursor
  }

  /** The next messages, however long the service takes. */
  async receiveOnce(cursor: string | null, messagesMax = 10): Promise<Received> {
    let place = cursor
    for (let calls = 0; calls < CALLS_MAX; calls++) {
      const received = await this.receiveNow(place, 5000, messagesMax)
      if (received.messages.length > 0) return received
      place = received.cursor
    }
    throw new PromiseBroken('a message that was posted must come')
  }

  async receiveAll(cursor: string | null, count: number): Promise<IncomingMessage[]> {
    const all: IncomingMessage[] = []
    let place = cursor
    while (all.length < count) {
      const { messages, cursor: next } = await this.receiveOnce(place)
      all.push(...messages)
      place = next
    }
    return all
  }

  async begun(text: string): Promise<IncomingMessage> {
    const before = await this.cursorNow()
    await this.fixture.begin(text)
    const [message] = await this.receiveAll(before, 1)
    return message as IncomingMessage
  }

  async send(to: IncomingMessage, text: string, over: Partial<OutgoingMessage> = {}): Promise<void> {
    const connection = await this.connection
    const { id, sender, context } = to
    const replyTo = { id, sender, ...(context === undefined ? {} : { context }) }
    const message = { thread: to.thread, text, idempotencyId: newId(), replyTo, ...over }
    await connection.send(message, new AbortController().signal)
  }

  async failureOf(to: IncomingMessage): Promise<{ permanent: boolean; retryAfterMs?: number } | undefined> {
    try {
      await this.send(to, 'refused')
      return undefined
    } catch (error) {
      return (error as { failure?: { permanent: boolean } }).failure ?? { permanent: false }
    }
  }

  async seenTexts(): Promise<string[]> {
    return (await this.fixture.seen()).map(({ text }) => text)
  }
}

export function newId(): string {
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(Math.random() * 16).toString(16)).join('')
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`
}
