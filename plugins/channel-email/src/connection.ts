/** A connection to the mailbox and to the server that sends mail. */
import type { ImapFlow } from 'imapflow'
import type { ChannelConnection, OutgoingMessage, Received, ReceiveRequest, Sent } from 'substrat/channel'
import { cursorOf, type Place, placeAt, REREAD_DAYS } from './cursor.js'
import { Mailbox, type StoredMail } from './mailbox.js'
import { readMail } from './message/read.js'
import type { MailSettings } from './settings.js'
import { Smtp } from './smtp.js'

/** Mail that one call holds in memory. */
const CALL_BYTES_MAX = 8 * 1024 * 1024
const DAY_MS = 24 * 3600 * 1000

export async function connect(settings: MailSettings): Promise<ChannelConnection> {
  const smtp = new Smtp(settings)
  await smtp.check()
  return new MailConnection(settings, new Mailbox(settings), smtp)
}

class MailConnection implements ChannelConnection {
  constructor(
    private readonly settings: MailSettings,
    private readonly mailbox: Mailbox,
    private readonly smtp: Smtp,
  ) {}

  receive({ cursor, waitMs, messagesMax }: ReceiveRequest, signal: AbortSignal): Promise<Received> {
    return this.mailbox.use(signal, async (client, { validity, uidNext }) => {
      const place = placeAt(cursor, validity, uidNext)
      let uids = await this.mailbox.uidsAfter(client, place.uid)
      if (uids.length === 0 && waitMs > 0 && cursor !== null) {
        await this.mailbox.waitForNews(client, waitMs, signal)
        signal.throwIfAborted()
        uids = await this.mailbox.uidsAfter(client, place.uid)
      }
      return this.read(client, place, uids.slice(0, messagesMax))
    })
  }

  private async read(client: ImapFlow, place: Place, uids: number[]): Promise<Received> {
    const received = { messages: [], refused: [] } as Required<Pick<Received, 'messages' | 'refused'>>
    let bytes = 0
    let { uid: last } = place
    for (const uid of uids) {
      const mail = await this.mailbox.fetch(client, uid)
      last = uid
      if (mail === undefined || (uid <= place.again && isOld(mail))) continue
      const read = await readMail(mail, this.settings)
      if ('message' in read) {
        if (uid > place.again || !isOld(mail, read.message.sentAt)) received.messages.push(read.message)
      } else received.refused.push(read.refused)
      bytes += mail.source.length
      if (bytes > CALL_BYTES_MAX) break
    }
    return { ...received, cursor: cursorOf({ ...place, uid: last }) }
  }

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Sent> {
    return { id: await this.smtp.send(message, signal) }
  }

  async close(): Promise<void> {
    this.smtp.close()
    await this.mailbox.close()
  }
}

/** A restored mailbox may have a new date for each message, so the date of the sender counts too. */
function isOld({ receivedAt }: StoredMail, sentAt?: string): boolean {
  const dates = [receivedAt?.getTime() ?? Date.now(), sentAt === undefined ? Date.now() : Date.parse(sentAt)]
  return Math.min(...dates) < Date.now() - REREAD_DAYS * DAY_MS
}
