/**
 * The channel contract: types that plugins import from `substrat/channel`. This file has no code that runs.
 *
 * A channel connects substrat to a conversation service, such as a chat platform or a mailbox. It is a `.cjs` file whose
 * `module.exports` is a `Channel`, or a module whose default export is one. The plugin's package.json names it:
 * `"substrat": {"channels": {"<type>": "./dist/index.cjs"}}`.
 *
 * A channel keeps nothing. substrat stores the cursor, the threads and the messages in the log of the channel's session, and
 * passes the cursor in again after a crash. A channel never retries: it reports a failure, and substrat decides.
 */

export interface Channel {
  /** One line. */
  description: string
  /** The names of the options, each with one line of help. Any other name is refused. */
  options: Record<string, string>
  /** The options that are secrets. Their values come from a file or a variable, never from config.json. */
  secrets: string[]
  /** The longest text of one message, in UTF-16 units. substrat splits longer replies. */
  textCharactersMax: number
  /**
   * True: the service does not recognize a repeated `idempotencyId`. substrat then records each call of `send` before it, and
   * drops a message after two calls of unknown outcome. So the message is shown at most twice.
   */
  mayShowTwice?: boolean
  /** Throws a `ChannelFailure` with `permanent` for options that cannot work. Changes nothing and uses no network. */
  check?(settings: ChannelSettings): void
  /** May connect at once, or at the first call. */
  open(settings: ChannelSettings): Promise<ChannelConnection>
}

export interface ChannelSettings {
  options: Record<string, string>
}

export interface ChannelConnection {
  /**
   * The messages after the cursor, oldest first. Waits up to `waitMs` for the first one. The same cursor returns the same messages
   * again until substrat passes the next one: only then may the service forget them. Throws a `ChannelFailure`.
   */
  receive(request: ReceiveRequest, signal: AbortSignal): Promise<Received>
  /**
   * Posts one message. substrat may call it again with the same `idempotencyId` if it does not know what became of the first
   * call; the service should then show the message once, if it can. Throws a `ChannelFailure`.
   */
  send(message: OutgoingMessage, signal: AbortSignal): Promise<Sent>
  /** Ends all connections. Called once, last. */
  close(): Promise<void>
}

export interface ReceiveRequest {
  /** Null at the first start: the channel decides where it begins. */
  cursor: string | null
  waitMs: number
  /** Return at most so many messages. */
  messagesMax: number
}

export interface Received {
  messages: IncomingMessage[]
  /** Messages that the channel does not pass on, such as a mail with a forged sender. substrat shows the reason. */
  refused?: RefusedMessage[]
  /** The place after the last message. May change without a message. At most 4096 characters. */
  cursor: string
}

export interface RefusedMessage {
  /** As the message says. Not authenticated. */
  sender: string
  why: string
}

export interface IncomingMessage {
  /** Unique on the service and the same at each delivery. At most 200 characters. */
  id: string
  /** The conversation. Each thread has an agent. At most 4096 characters, like the next fields. */
  thread: string
  /** The person, as the service has authenticated them. substrat compares it with `senders` and `approvers`. */
  sender: string
  /** A name for the agent to read. Not authenticated. */
  senderName?: string
  text: string
  /** ISO 8601, in UTC with milliseconds. */
  sentAt?: string
  /** The names of attached files. The sender receives a sentence: they cannot be read. */
  attachments?: string[]
  /** Data that `send` gets back in an answer to this message. */
  context?: string
}

export interface OutgoingMessage {
  thread: string
  text: string
  /** A UUID. The same at each attempt. */
  idempotencyId: string
  /** The latest message of the thread when this one was written. */
  replyTo: { id: string; sender: string; context?: string }
  /** Choosing one posts its `text` as a message of the person. A service without buttons ignores them: the text says what to reply. */
  buttons?: { label: string; text: string }[]
}

export interface Sent {
  /** The service's id of the message, if it has one. */
  id?: string
}

/** Throw this, or any error with the field. substrat treats any other error as one that may pass. The message has no secret. */
export interface ChannelFailure extends Error {
  failure: {
    /** Repeating the call cannot succeed, such as for a thread that no longer exists or wrong credentials. */
    permanent: boolean
    /** The service's own wish. */
    retryAfterMs?: number
    /**
     * Only of `send`, with `mayShowTwice`: the message has certainly not been shown, because the service answered so or was not
     * reached. Otherwise the outcome is unknown.
     */
    notShown?: boolean
  }
}
