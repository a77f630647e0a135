/** Mail as bytes, and how the channel reads it. */

import { type ReadMail, readMail } from '../../../plugins/channel-email/src/message/read.js'
import { type MailSettings, readSettings } from '../../../plugins/channel-email/src/settings.js'
import type { IncomingMessage } from '../../../src/channel/contract.js'

const OPTIONS = {
  address: 'agent@example.org',
  imap: 'imaps://mail.example.org',
  smtp: 'smtps://mail.example.org',
  password: 'secret',
  authserv_id: 'mail.example.org',
}

export function settingsOf(over: Record<string, string> = {}): MailSettings {
  return readSettings({ options: { ...OPTIONS, ...over } })
}

export const PASS = 'Authentication-Results: mail.example.org; dmarc=pass header.from=friends.example'
const RECEIVED =
  'Received: from mx.friends.example by mail.example.org (Postfix) with ESMTPS id 1; Wed, 25 Nov 2026 10:00:00 +0000'

/** The fields of an authentic mail. A value of undefined leaves the field out. */
export function mailOf(
  over: Record<string, string | undefined> = {},
  body = 'hello\r\n',
  top = [PASS, RECEIVED],
): Buffer {
  const fields = {
    From: 'Ann <ann@friends.example>',
    To: 'agent@example.org',
    Date: 'Wed, 25 Nov 2026 10:00:00 +0000',
    'Message-ID': '<1@friends.example>',
    ...over,
  }
  const lines = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  )
  return Buffer.from(`${[...top, ...lines].join('\r\n')}\r\n\r\n${body}`)
}

export function read(source: Buffer, settings = settingsOf(), bytes = source.length): Promise<ReadMail> {
  return readMail({ source, bytes }, settings)
}

export async function messageIn(source: Buffer, settings = settingsOf()): Promise<IncomingMessage> {
  const found = await read(source, settings)
  if ('refused' in found) throw new Error(found.refused.why)
  return found.message
}

/** Undefined if the mail is taken. */
export async function whyRefused(source: Buffer, settings = settingsOf()): Promise<string | undefined> {
  const found = await read(source, settings)
  return 'refused' in found ? found.refused.why : undefined
}
