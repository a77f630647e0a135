/** Reads and checks the options. No message has a secret. */
import { isIP } from 'node:net'
import type { ChannelSettings } from 'substrat/channel'
import { durationOf } from '../../shared/src/model/settings.js'
import { addressIn, domainOf } from './message/address.js'

export const OPTIONS = {
  address: 'the address of the channel, which sends the replies',
  name: 'the name beside the address in replies',
  aliases: 'more addresses of the mailbox, separated by commas',
  imap: 'the server with the mailbox: imaps://HOST, or imap://HOST for STARTTLS',
  smtp: 'the server that sends mail: smtps://HOST, or smtp://HOST for STARTTLS',
  user: 'the name of the login (the address)',
  password: 'the password of the login',
  smtp_user: 'the name of the login to send mail, if it differs',
  smtp_password: 'the password of the login to send mail, if it differs',
  mailbox: 'the folder to read (INBOX)',
  authserv_id: 'the name in the Authentication-Results fields that your server adds',
  received_by: 'more names of your servers in Received fields, separated by commas; * stands for any part',
  cc: 'addresses that get a copy of each reply, separated by commas',
  retry_after: 'the pause before another attempt if the server names none (5m)',
  tls: '"none" turns TLS off, which only the loopback allows',
  ca: 'certificates to trust, in PEM, instead of those of Node: {"file": "ca.pem"}',
} satisfies Record<string, string>

interface Server {
  host: string
  port: number
  /** `implicit`: TLS from the first byte. */
  tls: 'implicit' | 'starttls' | 'none'
  ca: string | undefined
  user: string
  password: string
}

export interface MailSettings {
  address: string
  name: string | undefined
  /** The address and its aliases. */
  own: string[]
  imap: Server
  smtp: Server
  mailbox: string
  authservId: string
  receivedBy: string[]
  cc: string[]
  retryAfterMs: number
}

const RETRY_AFTER_MS = 5 * 60_000
const PORTS: Record<string, number> = { 'imaps:': 993, 'imap:': 143, 'smtps:': 465, 'smtp:': 587 }

export function readSettings({ options }: ChannelSettings): MailSettings {
  const address = addressOption(options, 'address')
  const user = options.user ?? address
  const password = required(options, 'password')
  const smtp = { user: options.smtp_user ?? user, password: options.smtp_password ?? password }
  const authservId = required(options, 'authserv_id').toLowerCase()
  if (/[\s;]/.test(authservId))
    throw new Error('the option authserv_id must be one name, such as mx.example.org')
  return {
    address,
    name: options.name,
    own: [address, ...addressList(options, 'aliases')],
    imap: { ...serverOf(options, 'imap'), user, password },
    smtp: { ...serverOf(options, 'smtp'), ...smtp },
    mailbox: options.mailbox ?? 'INBOX',
    authservId,
    receivedBy: words(options.received_by),
    cc: addressList(options, 'cc'),
    retryAfterMs:
      options.retry_after === undefined ? RETRY_AFTER_MS : durationOf('retry_after', options.retry_after),
  }
}

function required(options: Record<string, string>, name: string): string {
  const value = options[name]?.trim()
  if (value === undefined || value === '') throw new Error(`the option ${name} is missing`)
  return value
}

function addressOption(options: Record<string, string>, name: string): string {
  const text = required(options, name)
  const address = addressIn(text)
  if (address === undefined) throw new Error(`the option ${name} is not an address: ${text}`)
  return address
}

function addressList(options: Record<string, string>, name: string): string[] {
  return words(options[name]).map((text) => {
    const address = addressIn(text)
    if (address === undefined)
      throw new Error(`the option ${name} has a part that is not an address: ${text}`)
    return address
  })
}

function words(list = ''): string[] {
  return list
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '')
}

function serverOf(
  options: Record<string, string>,
  protocol: 'imap' | 'smtp',
): Omit<Server, 'user' | 'password'> {
  const text = required(options, protocol)
  const form = `${protocol}s://HOST or ${protocol}://HOST, with :PORT if it differs`
  // Without a special scheme, URL would not read the host as one.
  const [, scheme = '', rest = ''] = /^([a-z]+:)\/\/([^/?#@\s]+)\/?$/i.exec(text) ?? []
  const port = PORTS[scheme.toLowerCase()]
  if (!scheme.toLowerCase().startsWith(protocol) || port === undefined || !URL.canParse(`http://${rest}`))
    throw new Error(`the option ${protocol} must be ${form}`)
  const url = new URL(`http://${rest}`)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  // URL leaves out the port 80, which is the standard of http.
  const given = /:(\d+)$/.exec(rest)?.[1]
  const { tls, ca } = options
  if (tls !== undefined && tls !== 'none') throw new Error('the option tls must be "none" if it is set')
  if (tls === 'none' && !isLoopback(host))
    throw new Error(
      `the option tls must not be "none" for ${host}: the password would be readable on its way`,
    )
  const security = tls ?? (scheme.endsWith('s:') ? 'implicit' : 'starttls')
  return { host, port: given === undefined ? port : Number(given), tls: security, ca }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** The domain of the address, which is also in the ids of our messages. */
export function ownDomain({ address }: MailSettings): string {
  return domainOf(address)
}
