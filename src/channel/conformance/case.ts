/** A case of the conformance suite, the service it runs against, and its failure. */
export interface ChannelCase {
  title: string
  run(): Promise<void>
}

/** A new service for one case, with a person whose messages the channel receives. */
export interface ServiceFixture {
  /** Options that work. */
  options: Record<string, string>
  /** The person, as the channel names the sender. */
  person: string
  /** The person begins a thread. Resolves when the channel can receive the message. */
  begin(text: string): Promise<void>
  /** The person answers the latest message of the thread that the channel has sent. */
  answer(thread: string, text: string): Promise<void>
  /** The messages that the person sees, oldest first. */
  seen(): Promise<{ text: string }[]>
  /** From now on, the service refuses each message for good. Leave out what the service cannot do. */
  refuse?(): Promise<void>
  /** The service asks once to send again after this time. */
  limit?(retryAfterMs: number): Promise<void>
  /** Whether the service shows a message once that is sent twice with the same idempotency id. */
  showsOnce: boolean
  close(): Promise<void>
}

export type NewService = () => Promise<ServiceFixture>

export class PromiseBroken extends Error {
  constructor(sentence: string) {
    super(`the channel breaks the contract: ${sentence}`)
  }
}

export function demand(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new PromiseBroken(sentence)
}
