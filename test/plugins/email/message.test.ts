/** The text, the id and the thread of a mail. */
import { describe, expect, test } from 'vitest'
import { MAIL_BYTES_MAX } from '../../../plugins/channel-email/src/message/read.js'
import { mailOf, messageIn, read, settingsOf } from './mail.js'

const ANSWER = { 'In-Reply-To': '<0@friends.example>', References: '<0@friends.example>' }

async function textOf(fields: Record<string, string | undefined>, body: string | Buffer): Promise<string> {
  const source = mailOf(fields, '')
  return (await messageIn(Buffer.concat([source, Buffer.from(body)]))).text
}

const parts = (type: string, ...each: string[]): [Record<string, string>, string] => [
  { 'Content-Type': `multipart/${type}; boundary=b` },
  `${each.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`,
]
const PLAIN = 'Content-Type: text/plain; charset=utf-8\r\n\r\nplain'
const HTML = 'Content-Type: text/html; charset=utf-8\r\n\r\n<p>html</p>'
const FILE = 'Content-Type: application/pdf\r\nContent-Disposition: attachment; filename="a b.pdf"\r\n\r\nx'

describe('the text', () => {
  test('comes from the plain part, else from HTML', async () => {
    expect(await textOf(...parts('alternative', PLAIN, HTML))).toBe('plain')
    expect(await textOf(...parts('alternative', HTML))).toBe('html')
    expect(await textOf(...parts('mixed', PLAIN, FILE))).toBe('plain')
    expect(await textOf({ 'Content-Type': 'text/html' }, '<b>a</b> &lt;b')).toBe('a <b')
  })

  const ENCODED: [string, string, string, Buffer, string][] = [
    ['utf-8', 'quoted-printable', 'utf-8', Buffer.from('gr=C3=BCn=\r\n er'), 'grün er'],
    ['utf-8', 'base64', 'utf-8', Buffer.from(Buffer.from('żółw €').toString('base64')), 'żółw €'],
    ['windows-1252', '8bit', 'windows-1252', Buffer.from([0x80, 0x20, 0xfc]), '€ ü'],
    ['iso-8859-2', '8bit', 'ISO-8859-2', Buffer.from([0xb3]), 'ł'],
    ['koi8-r', '8bit', 'koi8-r', Buffer.from([0xf0, 0xf2]), 'ПР'],
    ['shift_jis', '8bit', 'Shift_JIS', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), '日本'],
    ['iso-2022-jp', '7bit', 'iso-2022-jp', Buffer.from('\x1b$BF|K\\\x1b(B'), '日本'],
    ['gb18030', '8bit', 'gb18030', Buffer.from([0xc4, 0xe3]), '你'],
  ]
  test.each(ENCODED)('in %s and %s is decoded', async (_, encoding, charset, body, expected) => {
    const fields = { 'Content-Type': `text/plain; charset=${charset}`, 'Content-Transfer-Encoding': encoding }
    expect(await textOf(fields, body)).toBe(expected)
  })

  test('begins with the subject of a first mail, and keeps the quotes of one', async () => {
    const body = 'see below\r\n\r\nOn 24 Nov 2026, Bob wrote:\r\n> the bug\r\n'
    expect(await textOf({ Subject: '=?utf-8?Q?B=C3=BCg?=' }, body)).toBe(
      'Subject: Büg\n\nsee below\n\nOn 24 Nov 2026, Bob wrote:\n> the bug',
    )
    expect(await textOf({ Subject: 'Only this' }, '')).toBe('Only this')
  })

  const INTRODUCTION = 'On Wed, 25 Nov 2026 at 10:12, Agent <agent@example.org>\r\nwrote:'
  const ANSWERS: [string, string, string][] = [
    [
      'above the quote',
      `approve 1a2b3c4d\r\n\r\n${INTRODUCTION}\r\n\r\n> deny x\r\n> y\r\n`,
      'approve 1a2b3c4d',
    ],
    ['below the quote', `${INTRODUCTION}\r\n> deny x\r\n>\r\n\r\napprove 1a2b3c4d\r\n`, 'approve 1a2b3c4d'],
    ['below a quote without an introduction', '> deny x\r\n\r\nyes', 'yes'],
    [
      'between quotes, which stay',
      `a\r\n> one\r\nb\r\n> two\r\nc\r\n\r\n${INTRODUCTION}\r\n> z`,
      'a\n> one\nb\n> two\nc',
    ],
    ['with a quote of its own at the end', 'What is this:\r\n> error 5', 'What is this:\n> error 5'],
    [
      'above a copy without marks',
      'yes\r\n\r\n-----Original Message-----\r\nFrom: Agent\r\nSent: now\r\nSubject: x\r\n\r\nno',
      'yes',
    ],
    ['above a line of Outlook', `ja\r\n${'_'.repeat(32)}\r\nVon: Agent\r\nGesendet: jetzt\r\n\r\nno`, 'ja'],
    ['above a signature', 'yes\r\n-- \r\nAnn\r\napprove x', 'yes'],
    ['in French', 'oui\r\n\r\nLe mer. 25 nov. 2026 à 10:12, Agent a écrit :\r\n> non', 'oui'],
    ['only quoted', `${INTRODUCTION}\r\n> approve 1a2b3c4d`, ''],
  ]
  test.each(ANSWERS)('keeps what the person wrote in an answer: %s', async (_, body, expected) => {
    expect(await textOf({ ...ANSWER, Subject: 'Re: x' }, body)).toBe(expected)
  })

  test('has no quote of an HTML answer either', async () => {
    const html =
      '<style>p{}</style><div>approve 1a2b3c4d</div><br><div>On 25.11.2026 10:12, Agent wrote:</div><blockquote><p>deny</p></blockquote>'
    expect(await textOf({ ...ANSWER, 'Content-Type': 'text/html' }, html)).toBe('approve 1a2b3c4d')
  })
})

describe('HTML as text', () => {
  const PAGES: [string, string][] = [
    ['<p>one</p><p>two<br>three</p>', 'one\n\ntwo\nthree'],
    ['<ul><li>a</li><li>b &amp; c</li></ul>', '- a\n- b & c'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a b\nc'],
    ['<pre>a\n  b</pre>', 'a\n  b'],
    ['a<!-- <p>hidden --> b <script>x<y</script>c', 'a b c'],
    ['&#8364;&#x20AC;&nbsp;&unknown;&#0;', '€€ &unknown;&#0;'],
    ['1 < 2 and <3', '1 < 2 and <3'],
    ['<blockquote>a<blockquote>b</blockquote></blockquote>c', '> a\n> > b\nc'],
    ['end <b', 'end'],
  ]
  test.each(PAGES)('%j', async (html, expected) => {
    expect((await textOf({ 'Content-Type': 'text/html' }, html)).replaceAll('\u00a0', ' ')).toBe(expected)
  })
})

describe('an attached file', () => {
  test('is named, and a picture inside the text is not', async () => {
    const picture = 'Content-Type: image/png\r\nContent-ID: <p>\r\n\r\nx'
    const unnamed = 'Content-Type: application/zip\r\nContent-Disposition: attachment\r\n\r\nx'
    const nested = 'Content-Type: message/rfc822\r\n\r\nFrom: a@b.c\r\n\r\napprove 1a2b3c4d'
    const [fields, body] = parts('mixed', PLAIN, FILE, unnamed, nested)
    const message = await messageIn(mailOf(fields, body))
    expect(message).toMatchObject({
      text: 'plain',
      attachments: ['a b.pdf', 'a file of the type application/zip', 'a file of the type message/rfc822'],
    })
    const [related, text] = parts('related', HTML, picture)
    expect((await messageIn(mailOf(related, text))).attachments).toBeUndefined()
  })

  test('may be cut off with the end of a large mail', async () => {
    const [fields, body] = parts('mixed', PLAIN, FILE)
    const source = mailOf(fields, body).subarray(0, -5)
    expect(await read(source, settingsOf(), 50_000_000)).toMatchObject({
      message: { text: 'plain', attachments: ['a b.pdf'] },
    })
    const long = mailOf({}, 'x'.repeat(MAIL_BYTES_MAX)).subarray(0, MAIL_BYTES_MAX)
    expect(await read(long, settingsOf(), 2_000_000)).toMatchObject({
      message: { attachments: ['the end of a mail of 2000000 bytes'] },
    })
  })
})

describe('the id', () => {
  test('is the Message-ID', async () => {
    expect((await messageIn(mailOf())).id).toBe('<1@friends.example>')
  })

  test('is the same at each delivery of a mail without one, or with one that is too long', async () => {
    for (const id of [undefined, `<${'x'.repeat(300)}@a.example>`, 'none']) {
      const fields = { 'Message-ID': id }
      const { id: first } = await messageIn(mailOf(fields))
      const again = mailOf({ ...fields, 'X-Delivered': 'again' })
      expect(first).toMatch(/^digest:[0-9a-f]{24}$/)
      expect((await messageIn(again)).id).toBe(first)
      expect((await messageIn(mailOf(fields, 'other'))).id).not.toBe(first)
    }
  })
})

describe('the thread', () => {
  const threadOf = async (fields: Record<string, string | undefined>): Promise<string> =>
    (await messageIn(mailOf(fields))).thread

  test('is that of the first mail in References', async () => {
    const first = await threadOf({ 'Message-ID': '<0@friends.example>' })
    expect(await threadOf({ ...ANSWER, References: '<0@friends.example> <5@other.example>' })).toBe(first)
    expect(await threadOf({ 'In-Reply-To': '<0@friends.example>' })).toBe(first)
    expect(await threadOf({})).not.toBe(first)
  })

  test('is in the id of each answer of the channel', async () => {
    const first = await threadOf({})
    const own = `<97dd6e75-231b-8a29-8164-0a63f1ade33a.${first}@example.org>`
    expect(await threadOf({ 'In-Reply-To': own })).toBe(first)
    expect(await threadOf({ References: `<7@x.example> ${own}` })).toBe(first)
    expect(await threadOf({ 'In-Reply-To': own.replace('example.org', 'evil.example') })).not.toBe(first)
  })
})

test('the context has what an answer needs, in at most 4096 characters', async () => {
  const ids = Array.from({ length: 400 }, (_, index) => `<${index}@friends.example>`)
  const message = await messageIn(
    mailOf({
      Subject: 'x'.repeat(1000),
      'In-Reply-To': '<399@friends.example>',
      References: ids.join('\r\n '),
    }),
  )
  const context = JSON.parse(message.context as string)
  expect(message.context?.length).toBeLessThan(4096)
  expect(context).toMatchObject({ subject: 'x'.repeat(300), messageId: '<1@friends.example>' })
  expect([context.references[0], context.references.at(-1)]).toEqual([ids[0], ids.at(-1)])
})

test('a mail that nests too deep is refused', async () => {
  const deep = Array.from(
    { length: 200 },
    (_, n) => `Content-Type: multipart/mixed; boundary=b${n + 1}\r\n\r\n--b${n + 1}\r\n`,
  ).join('')
  const [name, ...rest] = deep.split('\r\n')
  const found = await read(
    mailOf({ 'Content-Type': name?.replace('Content-Type: ', '') as string }, rest.slice(1).join('\r\n')),
  )
  expect(found).toMatchObject({
    refused: { sender: 'ann@friends.example', why: expect.stringContaining('cannot be read') },
  })
})

test('a hostile mail is read in time that grows with its length only', async () => {
  const size = MAIL_BYTES_MAX - 2000
  for (const piece of ['<', '<a ', '&', '> ', '(', '"', '<<a>', '-- \n', ':\n', '\\"', '<!--', '=?'])
    for (const type of ['text/html', 'text/plain']) {
      const body = piece.repeat(Math.floor(size / piece.length))
      await read(mailOf({ ...ANSWER, 'Content-Type': type }, body))
      await read(
        mailOf({ ...ANSWER, From: body.slice(0, 200_000).replaceAll('\n', ' '), 'Content-Type': type }, ''),
      )
    }
})
