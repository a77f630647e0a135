/**
 * The mailbox, over IMAP. It is opened for reading only, so the channel changes nothing in it.
 *
 * One connection stays open between calls. Any failure closes it, and the next call connects again.
 */
import { type FetchMessageObject, ImapFlow, type ImapFlowError } from 'imapflow'
import { timeoutSignal } from '../../shared/src/timeout-signal.js'
import { isCertificateError, mailFailure } from './failure.js'
import { MAIL_BYTES_MAX, type RawMail } from './message/read.js'
import type { MailSettings } from './settings.js'

declare const USER_AGENT: string

const CONNECT_MS_MAX = 30_000
/** Longer than a pause between two messages of the server while the channel waits for mail. */
const SILENCE_MS_MAX = 90_000
const LOGOUT_MS_MAX = 5000
/** Codes of a refused login that may pass (RFC 5530). */
const PASSING = /^(UNAVAILABLE|INUSE|LIMIT|SERVERBUG|OVERQUOTA|ALERT)$/

export interface OpenMailbox {
  validity: string
  uidNext: number
}

export interface StoredMail extends RawMail {
  uid: number
  receivedAt: Date | undefined
}

export class Mailbox {
  private client: Promise<ImapFlow> | undefined
  private readonly news = new Set<() => void>()
  private hasNews = false

  constructor(private readonly settings: MailSettings) {}

  /** Runs the work with an open mailbox. Any failure is a `ChannelFailure`. */
  async use<T>(signal: AbortSignal, work: (client: ImapFlow, opened: OpenMailbox) => Promise<T>): Promise<T> {
    const stop = (): void => this.drop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      signal.throwIfAborted()
      this.client ??= this.connect()
      const client = await this.client
      if (client.mailbox === false) throw new Error('the connection has ended')
      const { uidValidity, uidNext } = client.mailbox
      if (!Number.isInteger(uidNext)) throw new Error('the server does not name the next UID')
      return await work(client, { validity: String(uidValidity), uidNext })
    } catch (error) {
      this.drop()
      throw this.failureOf(error)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  private async connect(): Promise<ImapFlow> {
    const { imap, mailbox } = this.settings
    const { host, port, tls, ca, user, password: pass } = imap
    const client = new ImapFlow({
      ...{
        host,
        port,
        secure: tls === 'implicit',
        doSTARTTLS: tls === 'implicit' ? undefined : tls === 'starttls',
      },
      ...{ auth: { user, pass }, logger: false, disableAutoIdle: true, clientInfo: { name: USER_AGENT } },
      ...{
        connectionTimeout: CONNECT_MS_MAX,
        greetingTimeout: CONNECT_MS_MAX,
        socketTimeout: SILENCE_MS_MAX,
      },
      tls: { ...(ca === undefined ? {} : { ca }) },
    })
    // The command that fails has the error. Between commands, the end of the connection is news.
    client.on('error', () => this.endWait())
    client.on('close', () => this.endWait())
    client.on('exists', () => this.endWait())
    try {
      await client.connect()
      await client.mailboxOpen(mailbox, { readOnly: true })
      return client
    } catch (error) {
      client.close()
      throw error
    }
  }

  private endWait(): void {
    this.hasNews = true
    for (const end of [...this.news]) end()
  }

  /** The UIDs after that one, in order. */
  async uidsAfter(client: ImapFlow, uid: number): Promise<number[]> {
    this.hasNews = false
    const found = await client.search({ uid: `${uid + 1}:*` }, { uid: true })
    if (!Array.isArray(found)) throw new Error('the server does not list the messages')
    // The range includes the last message even if its UID is smaller.
    return found.filter((each) => each > uid).sort((a, b) => a - b)
  }

  /** Undefined for a message that was deleted in between. */
  async fetch(client: ImapFlow, uid: number): Promise<StoredMail | undefined> {
    const query = { uid: true, size: true, internalDate: true, source: { maxLength: MAIL_BYTES_MAX } }
    const found: FetchMessageObject | false = await client.fetchOne(String(uid), query, { uid: true })
    if (found === false || found.source === undefined) return undefined
    const receivedAt = found.internalDate === undefined ? undefined : new Date(found.internalDate)
    const source = Buffer.from(found.source)
    return { uid, source, bytes: found.size ?? source.length, receivedAt }
  }

  /** Resolves when there may be mail, at the latest after this time. */
  async waitForNews(client: ImapFlow, waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.hasNews) return
    // The next command ends it. Its failure closes the connection.
    if (client.capabilities.has('IDLE')) client.idle().catch(() => this.endWait())
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        this.news.delete(end)
        resolve()
      }
      const timer = setTimeout(end, waitMs)
      signal.addEventListener('abort', end, { once: true })
      this.news.add(end)
      if (signal.aborted || this.hasNews) end()
    })
  }

  /** Ends the connection at once. */
  private drop(): void {
    const { client } = this
    this.client = undefined
    client?.then(
      (open) => open.close(),
      () => undefined,
    )
    this.endWait()
  }

  async close(): Promise<void> {
    const { client } = this
    this.client = undefined
    const open = await client?.catch(() => undefined)
    if (open === undefined) return
    const late = timeoutSignal(LOGOUT_MS_MAX)
    late.addEventListener('abort', () => open.close(), { once: true })
    await open.logout().catch(() => undefined)
  }

  private failureOf(error: unknown): Error {
    const { imap, mailbox } = this.settings
    const {
      authenticationFailed,
      serverResponseCode,
      responseText,
      mailboxMissing,
      code,
      message,
      throttleReset,
    } = Object(error) as ImapFlowError
    const server = `the IMAP server ${imap.host}`
    if (authenticationFailed === true)
      return mailFailure(
        `${server} refuses the login of ${imap.user}: ${responseText ?? message}`,
        !PASSING.test(serverResponseCode ?? ''),
      )
    if (mailboxMissing === true) return mailFailure(`${server} has no folder ${mailbox}`, true)
    if (isCertificateError(error))
      return mailFailure(`the certificate of ${server} is not trusted: ${message}`, true)
    const why =
      responseText ?? (code === undefined || message.includes(code) ? message : `${message} (${code})`)
    return mailFailure(`${server} gave no mail: ${why}`, false, throttleReset)
  }
}
