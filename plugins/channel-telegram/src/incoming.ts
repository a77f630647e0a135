/**
 * Updates of Telegram as messages.
 *
 * Invariants: a message has the same id at each delivery. An edit that changes the text is another message, and any other edit is
 * the same one. The sender is the numeric id of the account, because a user can change any name.
 */
import { createHash } from 'node:crypto'
import type { CallbackQuery, Message, Update, User } from 'grammy/types'
import type { IncomingMessage } from 'substrat/channel'

/** The account of the bot. */
export interface Bot {
  id: number
  username: string
}

/** The kinds of update that `messageIn` reads. Telegram keeps the others to itself. */
export const UPDATE_KINDS = ['message', 'edited_message', 'callback_query'] as const

/** Undefined for an update that no person has written for the bot. */
export function messageIn(update: Update, bot: Bot): IncomingMessage | undefined {
  const { message, edited_message: edited, callback_query: pressed } = update
  if (pressed !== undefined) return pressedMessage(pressed)
  const written = message ?? edited
  return written === undefined ? undefined : writtenMessage(written, bot, written === edited)
}

function writtenMessage(message: Message, bot: Bot, isEdited: boolean): IncomingMessage | undefined {
  const { from, chat, date } = message
  // A bot, a channel, and an administrator who hides behind the group are not persons that `senders` can name.
  if (from === undefined || from.is_bot || message.sender_chat !== undefined) return undefined
  if (chat.type !== 'private' && !isFor(bot, message)) return undefined
  const text = withoutMention(message.text ?? message.caption ?? '', bot)
  const attachments = attachmentsOf(message)
  // Such as the notice that a member has joined.
  if (text === '' && attachments.length === 0) return undefined
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16)
  return {
    id: `${chat.id}/${message.message_id}/${digest}`,
    thread: threadOf(message),
    sender: String(from.id),
    senderName: nameOf(from) + (isEdited ? ' (edited)' : ''),
    text,
    sentAt: new Date((message.edit_date ?? date) * 1000).toISOString(),
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

/** The text of a button is what the person would write. */
function pressedMessage({ id, from, message, data }: CallbackQuery): IncomingMessage | undefined {
  if (message === undefined || data === undefined || from.is_bot) return undefined
  return {
    id: `button/${id}`,
    thread: threadOf(message),
    sender: String(from.id),
    senderName: nameOf(from),
    text: data,
  }
}

type Place = Pick<Message, 'chat' | 'message_thread_id' | 'is_topic_message'>

/** Outside of a forum, the id of a thread names only a chain of answers. */
function threadOf({ chat, message_thread_id: topic, is_topic_message: isTopic }: Place): string {
  return isTopic === true && topic !== undefined ? `${chat.id}/${topic}` : String(chat.id)
}

/** In a group, the bot answers only those who speak to it. */
function isFor({ id, username }: Bot, message: Message): boolean {
  // In a topic, each message that answers no other one answers the message that opened the topic.
  const answered = message.reply_to_message
  if (answered?.from?.id === id && answered.forum_topic_created === undefined) return true
  const text = message.text ?? message.caption ?? ''
  return (message.entities ?? message.caption_entities ?? []).some((entity) => {
    if (entity.type === 'text_mention') return entity.user.id === id
    const words = text.slice(entity.offset, entity.offset + entity.length).toLowerCase()
    const name = `@${username.toLowerCase()}`
    return entity.type === 'mention' ? words === name : entity.type === 'bot_command' && words.endsWith(name)
  })
}

/** So that "@bot approve 1a2b3c4d" is a decision in a group. */
function withoutMention(text: string, { username }: Bot): string {
  const name = `@${username}`
  const rest = text.trim()
  const isFirst = rest.toLowerCase().startsWith(name.toLowerCase()) && !/^\w/.test(rest.slice(name.length))
  return isFirst ? rest.slice(name.length).trim() : rest
}

function nameOf({ first_name, last_name, username }: User): string {
  const name = [first_name, last_name].filter(Boolean).join(' ')
  return username === undefined ? name : `${name} @${username}`
}

const ATTACHED = {
  animation: 'an animation',
  audio: 'a sound',
  contact: 'a contact',
  dice: 'dice',
  document: 'a file',
  location: 'a location',
  paid_media: 'paid media',
  photo: 'a photo',
  poll: 'a poll',
  sticker: 'a sticker',
  story: 'a story',
  venue: 'a venue',
  video: 'a video',
  video_note: 'a video message',
  voice: 'a voice message',
} satisfies { [K in keyof Message]?: string }

/** Telegram repeats some in an older field: an animation is also a document, and a venue is also a location. */
const REPEATS = { document: 'animation', location: 'venue' } as const

function attachmentsOf(message: Message): string[] {
  return Object.entries(ATTACHED).flatMap(([kind, name]) => {
    const attached = message[kind as keyof typeof ATTACHED]
    const repeated = REPEATS[kind as keyof typeof REPEATS]
    if (attached === undefined || (repeated !== undefined && message[repeated] !== undefined)) return []
    const file = (attached as { file_name?: unknown }).file_name
    return [typeof file === 'string' && file !== '' ? file : name]
  })
}
