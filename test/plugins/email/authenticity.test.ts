/** Only the field that the own server has added shows that a sender is authentic, however the mail itself tries to look like it. */
import { describe, expect, test } from 'vitest'
import { mailOf, messageIn, PASS, settingsOf, whyRefused } from './mail.js'

const OURS = 'Received: from x by mail.example.org (Postfix); Wed, 25 Nov 2026 10:00:00 +0000'
const results = (text: string): string => `Authentication-Results: mail.example.org; ${text}`
const withTop = (...top: string[]): Buffer => mailOf({}, 'hello', top)

describe('a sender is authenticated', () => {
  const ACCEPTED: [string, string[]][] = [
    ['by dmarc=pass for the domain', [PASS, OURS]],
    ['by a field below the Received field of the same server', [OURS, PASS]],
    ['by a field below a Received field of the same domain', ['Received: by mx2.example.org; now', PASS]],
    [
      'by dkim=pass for the domain if there is no dmarc',
      [results('dkim=pass header.d=friends.example header.s=a')],
    ],
    ['by dkim=pass if dmarc has no policy', [results('dkim=pass header.i=@friends.example; dmarc=none')]],
    ['by a login to the server with the address', [results('auth=pass smtp.auth=ann@friends.example')]],
    [
      'with comments, folded lines and a version',
      [
        'Authentication-Results: mail.example.org (the (real) server) 1;',
        '\tspf=fail (a; dmarc=fail "x) smtp.mailfrom=evil.example;',
        '\tdmarc = pass (p=none) header.from = friends.example',
      ],
    ],
    [
      'with the name in other letters',
      ['authentication-results: MAIL.Example.org; DMARC=Pass header.from=Friends.example'],
    ],
    ['below a field of another server', ['Authentication-Results: other.example; dmarc=fail', PASS]],
  ]
  test.each(ACCEPTED)('%s', async (_, top) => {
    expect(await messageIn(withTop(...top))).toMatchObject({ sender: 'ann@friends.example', text: 'hello' })
  })

  test('below a Received field of a server in received_by', async () => {
    const mail = withTop('Received: by 2002:a05:6a10:1 with SMTP id 3; now', PASS)
    expect(await whyRefused(mail)).toContain(
      'are above the Received field of 2002:a05:6a10:1; if that is your server, add it to received_by',
    )
    expect(await whyRefused(mail, settingsOf({ received_by: 'mx.example.net, 2002:*' }))).toBeUndefined()
  })
})

describe('a sender is refused', () => {
  const REFUSED: [string, string[], string][] = [
    ['without any field', [OURS], 'no Authentication-Results of mail.example.org'],
    [
      'with a field of another server',
      ['Authentication-Results: evil.example; dmarc=pass header.from=friends.example'],
      'no Authentication-Results of',
    ],
    [
      'with the field of a server whose name only begins the same',
      ['Authentication-Results: mail.example.org.evil.example; dmarc=pass header.from=friends.example'],
      'no Authentication-Results of',
    ],
    [
      'with a forged field below the real one',
      [results('none'), OURS, PASS],
      'neither dmarc=pass nor dkim=pass',
    ],
    [
      'with a forged field below the Received field of another server',
      [OURS, 'Received: by relay.evil.example; now', PASS],
      'above the Received field of relay.evil.example',
    ],
    [
      'with a forged field below a Received field without a name',
      [OURS, 'Received: from nowhere', PASS],
      'a server without a name',
    ],
    [
      'by dmarc=fail, also with a signature',
      [results('dkim=pass header.d=friends.example; dmarc=fail header.from=friends.example')],
      'dmarc=fail',
    ],
    [
      'by dmarc=pass for another domain',
      [results('dmarc=pass header.from=evil.example')],
      'dmarc=pass for evil.example',
    ],
    ['by dmarc=pass without a domain', [results('dmarc=pass')], 'a domain without a name'],
    ['by a signature of another domain', [results('dkim=pass header.d=evil.example')], 'neither'],
    ['by spf alone', [results('spf=pass smtp.mailfrom=ann@friends.example')], 'neither'],
    [
      'by a result that only begins with pass',
      [results('dmarc=passed header.from=friends.example')],
      'dmarc=passed',
    ],
    [
      'by a login with another address',
      [results('auth=pass smtp.auth=bob@friends.example; dmarc=pass header.from=friends.example')],
      'auth=pass for bob@friends.example',
    ],
    ['by a failed login', [results('auth=fail smtp.auth=ann@friends.example')], 'auth=fail'],
    [
      'by two logins',
      [results('auth=pass smtp.auth=ann@friends.example; auth=pass smtp.auth=bob@friends.example')],
      'auth=pass for ann',
    ],
    [
      'by a pass in a comment',
      [results('dmarc=fail (; dmarc=pass header.from=friends.example)')],
      'dmarc=fail',
    ],
    [
      'by a pass in a quoted string',
      [results('spf=fail smtp.mailfrom="a; dmarc=pass header.from=friends.example "')],
      'neither',
    ],
    [
      'by a pass in a quoted reason',
      [results('spf=fail reason= "x; auth=pass smtp.auth=ann@friends.example"')],
      'neither',
    ],
    [
      'by two verdicts that differ',
      [results('dmarc=fail header.from=friends.example; dmarc=pass header.from=friends.example')],
      'dmarc=fail',
    ],
    [
      'by a property that is there twice',
      [results('dmarc=pass header.from=friends.example header.from=evil.example')],
      'cannot be read',
    ],
    [
      'by a comment that does not end',
      [results('dmarc=pass header.from=friends.example (')],
      'cannot be read',
    ],
    [
      'by a field without the name of a server',
      ['Authentication-Results: dmarc=pass header.from=friends.example', PASS],
      'cannot be read',
    ],
    [
      'by a field of a later version',
      ['Authentication-Results: mail.example.org 2; dmarc=pass header.from=friends.example'],
      'cannot be read',
    ],
  ]
  test.each(REFUSED)('%s', async (_, top, why) => {
    expect(await whyRefused(withTop(...top))).toContain(why)
  })

  test('with a field in the body', async () => {
    expect(await whyRefused(mailOf({}, `${PASS}\r\n\r\nhello`, [OURS]))).toContain(
      'no Authentication-Results',
    )
  })

  test('with a field behind a line that is none', async () => {
    const mail = withTop('X', ` ${PASS}`, OURS)
    expect(await whyRefused(mail)).toContain('no Authentication-Results')
  })
})

describe('a From field', () => {
  const ACCEPTED: [string, string, string | undefined][] = [
    ['an address alone', 'ANN@Friends.example', undefined],
    ['a name', 'Ann Bell <ann@friends.example>', 'Ann Bell'],
    ['a quoted name with an address in it', '"bob@evil.example" <ann@friends.example>', 'bob@evil.example'],
    ['an encoded name', '=?utf-8?Q?J=C3=BCrg?= <ann@friends.example>', 'Jürg'],
    [
      'an encoded name with an address in it',
      '=?utf-8?Q?bob=40evil.example?= <ann@friends.example>',
      'bob@evil.example',
    ],
    ['the address as its name', 'ann@friends.example <ann@friends.example>', 'ann@friends.example'],
    ['a comment', 'ann@friends.example (the <real> one)', undefined],
  ]
  test.each(ACCEPTED)('may have %s', async (_, From, senderName) => {
    const message = await messageIn(mailOf({ From }))
    expect([message.sender, message.senderName]).toEqual(['ann@friends.example', senderName])
  })

  const REFUSED: [string, string][] = [
    ['two addresses', 'ann@friends.example, bob@evil.example'],
    ['two addresses in angle brackets', 'Ann <ann@friends.example> <bob@evil.example>'],
    ['another address as its name', 'ann@friends.example <bob@evil.example>'],
    ['a group', 'Friends: ann@friends.example;'],
    ['a comment that does not end', 'ann@friends.example (x'],
    ['a quote that does not end', '"Ann <ann@friends.example>'],
    ['a control character', 'ann@friends.example\u0000'],
    ['an encoded address', '=?utf-8?Q?ann=40friends.example?='],
    ['a quoted local part', '"ann"@friends.example'],
    ['no address', 'Ann'],
    ['nothing', ''],
  ]
  test.each(REFUSED)('must not have %s', async (_, From) => {
    expect(await whyRefused(mailOf({ From }))).toBe('its From field does not name one address')
  })

  test('must be there once', async () => {
    const two = mailOf({}, 'x', [PASS, 'From: ann@friends.example'])
    expect(await whyRefused(two)).toBe('its From field does not name one address')
    expect(await whyRefused(mailOf({ From: undefined }))).toBe('its From field does not name one address')
  })

  test('with a domain in other letters is compared in ASCII', async () => {
    const top = [results('dmarc=pass header.from=xn--mller-kva.example')]
    const message = await messageIn(mailOf({ From: 'Ann <ann@müller.example>' }, 'x', top))
    expect(message.sender).toBe('ann@xn--mller-kva.example')
  })
})

describe('mail that no person wrote to the channel is refused', () => {
  const REFUSED: [string, Record<string, string>][] = [
    ['its own address', { From: 'agent@example.org' }],
    [
      'an id of its own',
      { 'Message-ID': `<97dd6e75-231b-8a29-8164-0a63f1ade33a.${'a'.repeat(24)}@example.org>` },
    ],
    ['Auto-Submitted', { 'Auto-Submitted': 'auto-replied; owner-email=a@b' }],
    ['Precedence', { Precedence: 'Bulk' }],
    ['a report', { 'Content-Type': 'multipart/report; boundary=x' }],
    ['an empty Return-Path', { 'Return-Path': '<>' }],
    ['a list', { 'List-Id': '<list.friends.example>' }],
    ['an autoresponder', { 'X-Autoreply': 'yes' }],
    ['another recipient', { To: 'bob@example.org', Cc: '"agent@example.org" <carl@example.org>' }],
  ]
  test.each(REFUSED)('%s', async (_, fields) => {
    expect(await whyRefused(mailOf(fields))).toMatch(
      /^(the channel itself|no person has written it|neither To nor Cc)/,
    )
  })

  test('but taken with Auto-Submitted: no, in Cc, and to an alias', async () => {
    expect(await whyRefused(mailOf({ 'Auto-Submitted': 'no' }))).toBeUndefined()
    const copied = mailOf({ To: 'bob@example.org', Cc: 'Team: Helper <Help@Example.org>;' })
    expect(await whyRefused(copied)).toContain('neither To nor Cc')
    expect(
      await whyRefused(copied, settingsOf({ aliases: 'a@example.org, help@example.org' })),
    ).toBeUndefined()
  })
})
