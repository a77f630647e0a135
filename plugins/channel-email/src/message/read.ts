/**
 * A mail from its bytes: a message of an authenticated person, or the reason why it is refused.
 *
 * Invariant: the same bytes give the same message, so the platform may deliver it again.
 */
import PostalMime, { decodeWords, type Email } from 'postal-mime'
import type { IncomingMessage, RefusedMessage } from 'substrat/channel'
import { type MailSettings, ownDomain } from '../settings.js'
import { addressesIn, senderIn } from './address.js'
import { forgeryIn } from './authenticity.js'
import { automaticSign } from './automatic.js'
import { contextOf } from './context.js'
import { type Field, fieldsOf, firstValue, valuesOf } from './fields.js'
import { textOfHtml } from './html-text.js'
import { withoutQuotes } from './quotes.js'
import { digestOf, idsIn, messageIdIn, ownThreadIn, threadOf } from './threads.js'

export interface RawMail {
  /** The beginning of the mail, at most `MAIL_BYTES_MAX`. */
  source: Buffer
  /** The size of the whole mail. */
  bytes: number
}

/** The rest of a larger mail is not read: its text comes first, and attachments are refused. */
export const MAIL_BYTES_MAX = 1024 * 1024
/** Each line takes the parser about as long as a kilobyte. */
const LINES_MAX = 20_000
const ID_CHARACTERS_MAX = 200

export type ReadMail = { message: IncomingMessage } | { refused: RefusedMessage }

export async function readMail({ source: whole, bytes }: RawMail, settings: MailSettings): Promise<ReadMail> {
  const mail = { source: firstLines(whole), bytes }
  const fields = fieldsOf(mail.source)
  const froms = valuesOf(fields, 'from')
  const sender = froms.length === 1 ? senderIn(froms[0] as string) : undefined
  const why =
    sender === undefined
      ? 'its From field does not name one address'
      : refusalOf(fields, sender.address, settings)
  if (sender === undefined || why !== undefined)
    return {
      refused: {
        sender: sender?.address ?? (froms.join(', ').slice(0, 100) || 'an unknown sender'),
        why: why as string,
      },
    }
  let email: Email
  try {
    email = await PostalMime.parse(mail.source, { forceRfc822Attachments: true, maxNestingDepth: 50 })
  } catch (error) {
    return { refused: { sender: sender.address, why: `it cannot be read: ${(error as Error).message}` } }
  }
  return { message: messageOf(fields, email, { mail, sender, settings }) }
}

function refusalOf(fields: Field[], address: string, settings: MailSettings): string | undefined {
  if (
    settings.own.includes(address) ||
    ownThreadIn(messageIdIn(fields) ?? '', ownDomain(settings)) !== undefined
  )
    return 'the channel itself has sent it'
  const sign = automaticSign(fields)
  if (sign !== undefined) return `no person has written it (${sign})`
  const forgery = forgeryIn(fields, address, settings)
  if (forgery !== undefined) return `its sender is not authenticated: ${forgery}`
  const recipients = [...valuesOf(fields, 'to'), ...valuesOf(fields, 'cc')].flatMap(addressesIn)
  if (!settings.own.some((own) => recipients.includes(own)))
    return 'neither To nor Cc has the address of the channel or one of its aliases'
  return undefined
}

function firstLines(source: Buffer): Buffer {
  let end = 0
  for (let lines = 0; lines < LINES_MAX; lines++) {
    const next = source.indexOf('\n', end)
    if (next === -1) return source
    end = next + 1
  }
  return source.subarray(0, end)
}

interface Facts {
  mail: RawMail
  sender: { address: string; name: string }
  settings: MailSettings
}

function messageOf(fields: Field[], email: Email, { mail, sender, settings }: Facts): IncomingMessage {
  const messageId = messageIdIn(fields)
  const references = idsIn(firstValue(fields, 'references'))
  const answered = idsIn(firstValue(fields, 'in-reply-to'))
  const before = [...references, ...answered]
  const plain = email.text?.trim() ? email.text : textOfHtml(email.html ?? '')
  const text = withoutQuotes(readable(plain), before.length > 0)
  const id = idOf(messageId, [firstValue(fields, 'date') ?? '', sender.address, email.subject ?? '', plain])
  const attachments = attachmentsOf(email, mail)
  const senderName = decodeWords(sender.name).trim()
  return {
    id,
    thread: threadOf([...before, messageId ?? id], ownDomain(settings)),
    sender: sender.address,
    ...(senderName === '' ? {} : { senderName }),
    text: textWithSubject(text, readable(email.subject ?? ''), before.length > 0),
    ...(isTime(email.date) ? { sentAt: email.date } : {}),
    ...(attachments.length === 0 ? {} : { attachments }),
    context: contextOf({
      subject: readable(email.subject ?? ''),
      messageId,
      references: references.length > 0 ? references : answered,
    }),
  }
}

const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Node 20 decodes windows-1252 as latin1, whose characters from 0x80 to 0x9f appear in no text. */
function readable(text: string): string {
  return text
    .replaceAll('\0', '')
    .replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252.charAt(character.charCodeAt(0) - 0x80))
}

/** A mail without an id, or with one that is too long, has the same digest at each delivery. */
function idOf(messageId: string | undefined, facts: string[]): string {
  if (messageId !== undefined && messageId.length <= ID_CHARACTERS_MAX) return messageId
  return `digest:${digestOf(JSON.stringify([messageId, ...facts]))}`
}

/** The subject of the first mail is part of what the person says. */
function textWithSubject(text: string, subject: string, isAnswer: boolean): string {
  const line = subject.replace(/\s+/g, ' ').trim()
  if (isAnswer || line === '') return text
  return text === '' ? line : `Subject: ${line}\n\n${text}`
}

function attachmentsOf({ attachments }: Email, { source, bytes }: RawMail): string[] {
  const names = attachments
    // Pictures of a signature.
    .filter(({ related, mimeType }) => related !== true || !mimeType.startsWith('image/'))
    .map(({ filename, mimeType }) => filename?.trim() || `a file of the type ${mimeType}`)
  const isCut = bytes > source.length && names.length === 0
  return isCut ? [`the end of a mail of ${bytes} bytes`] : names
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)
}
