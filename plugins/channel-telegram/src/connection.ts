/**
 * A connection to the Bot API: long polling, and one request for each message.
 *
 * Invariant: only the cursor of substrat confirms updates. Telegram delivers all others again, for 24 hours.
 */
import type { Update } from 'grammy/types'
import type { Api } from 'grammy/web'
import type { ChannelConnection, OutgoingMessage, Received, ReceiveRequest, Sent } from 'substrat/channel'
import { timeoutSignal } from '../../shared/src/timeout-signal.js'
import { botApi, botFailure, failureOf } from './api.js'
import { type Bot, messageIn, UPDATE_KINDS } from './incoming.js'
import type { BotSettings } from './settings.js'

/** Telegram holds a request no longer. */
const WAIT_SECONDS_MAX = 50
const UPDATES_MAX = 100
/** Telegram refuses longer data of a button. */
const BUTTON_BYTES_MAX = 64
const SMALL_CALL_MS = 20_000

export function connect(settings: BotSettings): ChannelConnection {
  return new BotConnection(settings, botApi(settings))
}

class BotConnection implements ChannelConnection {
  private bot: Bot | undefined
  private readonly closed = new AbortController()
  /** The presses of buttons that substrat has not recorded yet, with the number of their update. */
  private readonly pressed = new Map<string, number>()

  constructor(
    private readonly settings: BotSettings,
    private readonly api: Api,
  ) {}

  async receive({ cursor, waitMs, messagesMax }: ReceiveRequest, signal: AbortSignal): Promise<Received> {
    const offset = offsetIn(cursor)
    this.answerPressed(offset)
    const ends = AbortSignal.any([signal, this.closed.signal])
    try {
      this.bot ??= await this.account(ends)
      const updates = await this.api.getUpdates(
        {
          offset,
          limit: Math.min(messagesMax, UPDATES_MAX),
          timeout: Math.min(Math.floor(waitMs / 1000), WAIT_SECONDS_MAX),
          allowed_updates: UPDATE_KINDS,
        },
        signalOf(ends),
      )
      return this.received(updates, this.bot, offset)
    } catch (error) {
      throw failureOf('Telegram gave no messages', error, this.settings.token)
    }
  }

  private async account(ends: AbortSignal): Promise<Bot> {
    const { id, username } = await this.api.getMe(
      signalOf(AbortSignal.any([ends, timeoutSignal(SMALL_CALL_MS)])),
    )
    return { id, username }
  }

  /** The ids of updates may begin again at a smaller number after a week without any. */
  private received(updates: Update[], bot: Bot, offset: number): Received {
    for (const { update_id: updateId, callback_query: pressed } of updates)
      if (pressed !== undefined) this.pressed.set(pressed.id, updateId)
    const messages = updates.flatMap((update) => messageIn(update, bot) ?? [])
    const last = updates.at(-1)
    return { messages, cursor: String(last === undefined ? offset : last.update_id + 1) }
  }

  /** Ends the sign of progress at a button. It shows nothing that a person needs, so no failure counts. */
  private answerPressed(offset: number): void {
    for (const [id, updateId] of this.pressed) {
      if (updateId >= offset) continue
      this.pressed.delete(id)
      const ends = AbortSignal.any([this.closed.signal, timeoutSignal(SMALL_CALL_MS)])
      this.api.answerCallbackQuery(id, {}, signalOf(ends)).catch(() => undefined)
    }
  }

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Sent> {
    const { chat, topic } = placeOf(message.thread)
    const ends = AbortSignal.any([signal, this.closed.signal])
    try {
      const sent = await this.api.sendMessage(
        chat,
        message.text,
        {
          ...(topic === undefined ? {} : { message_thread_id: topic }),
          // Telegram would fetch each address in the text. An address can carry what an agent has read.
          link_preview_options: { is_disabled: true },
          ...quoteOf(chat, message),
          ...keyboardOf(message),
        },
        signalOf(ends),
      )
      return { id: String(sent.message_id) }
    } catch (error) {
      const { token, retryAfterMs } = this.settings
      throw failureOf('Telegram did not take the message', error, token, retryAfterMs)
    }
  }

  async close(): Promise<void> {
    this.closed.abort()
  }
}

/** grammY declares an AbortSignal of its own. */
type Signal = Parameters<Api['getMe']>[0]

function signalOf(signal: AbortSignal): Signal {
  return signal as Signal
}

function offsetIn(cursor: string | null): number {
  const offset = Number(cursor ?? 0)
  if (!Number.isSafeInteger(offset))
    throw botFailure(`the cursor ${cursor} is not one of Telegram`, { permanent: true })
  return offset
}

function placeOf(thread: string): { chat: number; topic?: number } {
  const [, chat, topic] = /^(-?\d+)(?:\/(\d+))?$/.exec(thread) ?? []
  if (chat === undefined) throw botFailure(`the thread ${thread} is not one of Telegram`, { permanent: true })
  return { chat: Number(chat), ...(topic === undefined ? {} : { topic: Number(topic) }) }
}

/** In a group it shows whose message is answered. */
function quoteOf(chat: number, { replyTo }: OutgoingMessage) {
  const [, id] = /^-\d+\/(\d+)\//.exec(replyTo.id) ?? []
  if (chat >= 0 || id === undefined) return {}
  return { reply_parameters: { message_id: Number(id), allow_sending_without_reply: true } }
}

/** A button whose text is too long is left out: the message says what to write. */
function keyboardOf({ buttons = [] }: OutgoingMessage) {
  const row = buttons
    .filter(({ text }) => Buffer.byteLength(text) <= BUTTON_BYTES_MAX)
    .map(({ label, text }) => ({ text: label, callback_data: text }))
  return row.length === 0 ? {} : { reply_markup: { inline_keyboard: [row] } }
}
