/** The options of the channel email. */
import { describe, expect, test } from 'vitest'
import { settingsOf } from './mail.js'

test('a server has the port and the protection of its scheme, or those of the option', () => {
  const { imap, smtp } = settingsOf()
  expect([imap, smtp]).toMatchObject([
    { host: 'mail.example.org', port: 993, tls: 'implicit', user: 'agent@example.org', password: 'secret' },
    { host: 'mail.example.org', port: 465, tls: 'implicit', user: 'agent@example.org', password: 'secret' },
  ])
  const other = settingsOf({
    imap: 'imap://[::1]:80',
    smtp: 'smtp://relay.example',
    smtp_user: 'x',
    smtp_password: 'y',
  })
  expect(other.imap).toMatchObject({ host: '::1', port: 80, tls: 'starttls' })
  expect(other.smtp).toMatchObject({
    host: 'relay.example',
    port: 587,
    tls: 'starttls',
    user: 'x',
    password: 'y',
  })
})

describe('TLS is off', () => {
  test.each(['localhost', '127.0.0.1', '127.9.9.9', '[::1]'])('for %s, if the option says so', (host) => {
    const { imap, smtp } = settingsOf({ imap: `imap://${host}`, smtp: `smtp://${host}`, tls: 'none' })
    expect([imap.tls, smtp.tls]).toEqual(['none', 'none'])
  })

  test.each(['mail.example.org', '192.168.0.1', '127.example.org', 'localhost.example.org'])(
    'never for %s',
    (host) => {
      expect(() => settingsOf({ imap: `imap://${host}`, smtp: 'smtp://localhost', tls: 'none' })).toThrow(
        `the option tls must not be "none" for ${host}: the password would be readable on its way`,
      )
    },
  )
})

const WRONG: [string, Record<string, string>, string][] = [
  ['no password', { password: '' }, 'the option password is missing'],
  ['no authserv_id', { authserv_id: ' ' }, 'the option authserv_id is missing'],
  ['an authserv_id of two words', { authserv_id: 'a b' }, 'the option authserv_id must be one name'],
  ['an address without a domain', { address: 'agent' }, 'the option address is not an address: agent'],
  [
    'an alias that is not an address',
    { aliases: 'a@b.example, c' },
    'the option aliases has a part that is not an address: c',
  ],
  [
    'a server without a scheme',
    { imap: 'mail.example.org' },
    'the option imap must be imaps://HOST or imap://HOST',
  ],
  [
    'a server of another protocol',
    { smtp: 'imaps://mail.example.org' },
    'the option smtp must be smtps://HOST',
  ],
  [
    'a password in the address of a server',
    { smtp: 'smtps://u:p@mail.example.org' },
    'the option smtp must be smtps://HOST',
  ],
  ['a pause without a unit', { retry_after: '5' }, 'the option retry_after must be a duration'],
  ['another word for tls', { tls: 'off' }, 'the option tls must be "none" if it is set'],
]
test.each(WRONG)('%s is refused', (_, over, message) => {
  expect(() => settingsOf(over)).toThrow(message)
})
