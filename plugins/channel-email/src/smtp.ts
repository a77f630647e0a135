/** Sends mail over SMTP: one connection for each mail, and one attempt. */
import { createTransport, type Transporter } from 'nodemailer'
import type { ChannelFailure, OutgoingMessage } from 'substrat/channel'
import { isCertificateError, mailFailure } from './failure.js'
import { readContext } from './message/context.js'
import { ownId } from './message/threads.js'
import { type MailSettings, ownDomain } from './settings.js'

const CONNECT_MS_MAX = 30_000
const SILENCE_MS_MAX = 45_000

/** The facts of an error of nodemailer. */
interface SmtpError extends Error {
  code?: string
  responseCode?: number
  response?: string
}

export class Smtp {
  private readonly transport: Transporter

  constructor(private readonly settings: MailSettings) {
    const { host, port, tls, ca, user, password: pass } = settings.smtp
    this.transport = createTransport({
      ...{ host, port, auth: { user, pass }, disableFileAccess: true, disableUrlAccess: true },
      ...{ secure: tls === 'implicit', requireTLS: tls === 'starttls', ignoreTLS: tls === 'none' },
      ...{
        connectionTimeout: CONNECT_MS_MAX,
        greetingTimeout: CONNECT_MS_MAX,
        socketTimeout: SILENCE_MS_MAX,
      },
      tls: { ...(ca === undefined ? {} : { ca }) },
    })
  }

  /** Throws if a later attempt fails as well, because replies would be dropped. A server may be unreachable for a while. */
  async check(): Promise<void> {
    try {
      await this.transport.verify()
    } catch (error) {
      const failure = this.failureOf(error)
      if (failure.failure.permanent) throw failure
      if (isCertificateError(error)) throw mailFailure(failure.message, true)
    }
  }

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<string> {
    const { address, name = '', cc } = this.settings
    const { thread, text, idempotencyId, replyTo } = message
    const { subject, messageId: answered, references } = readContext(replyTo.context)
    const messageId = ownId(idempotencyId, thread, ownDomain(this.settings))
    const to = replyTo.sender
    try {
      const { rejected = [], rejectedErrors = [] } = await this.transport.sendMail({
        ...{ from: { name, address }, to, cc: cc.filter((copy) => copy !== to), text, messageId },
        subject: /^re:/i.test(subject) ? subject : `Re: ${subject || 'your message'}`,
        ...(answered === undefined ? {} : { inReplyTo: answered, references: [...references, answered] }),
        // Keeps each line as it is, and the answers of absent people away.
        textEncoding: 'quoted-printable',
        headers: { 'Auto-Submitted': 'auto-replied', 'X-Auto-Response-Suppress': 'All' },
        signal,
      })
      // If only a copy is refused, the mail is not sent again.
      if (rejected.includes(to)) throw rejectedErrors[rejected.indexOf(to)] ?? new Error(`${to} is refused`)
    } catch (error) {
      throw this.failureOf(error)
    }
    return messageId
  }

  close(): void {
    this.transport.close()
  }

  private failureOf(error: unknown): ChannelFailure {
    const { smtp, retryAfterMs } = this.settings
    const { code, responseCode = 0, response, message } = Object(error) as SmtpError
    const server = `the SMTP server ${smtp.host}`
    const why = `${server} did not take the mail: ${response ?? message}`
    if (code === 'EAUTH' && (responseCode >= 500 || responseCode === 0))
      return mailFailure(`${server} refuses the login of ${smtp.user}: ${response ?? message}`, true)
    if (responseCode >= 500 && !isFull(responseCode, response)) return mailFailure(why, true)
    return mailFailure(why, false, pauseIn(response) ?? retryAfterMs)
  }
}

/** The mailbox of the recipient is full (RFC 3463). Its owner can make room. */
function isFull(status: number, response = ''): boolean {
  return /^5\d\d[ -]5\.2\.2\b/.test(response) || (status === 552 && !/^552[ -]5\.3\.4\b/.test(response))
}

const UNIT_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 }

/** The pause that the answer of the server names: "try again in 300 seconds". */
function pauseIn(response = ''): number | undefined {
  const [, count, unit] = /\b(?:in|after|for) (\d{1,5}) ?(s|m|h)(?:ec|in|our)/i.exec(response) ?? []
  return unit === undefined ? undefined : Number(count) * (UNIT_MS[unit.toLowerCase()] as number)
}
