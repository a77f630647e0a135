/** The channel email when the servers refuse, restart, or have lost their state. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type {
  Channel,
  ChannelConnection,
  ChannelFailure,
  IncomingMessage,
  Received,
} from '../../src/channel/contract.js'
import { AGENT, ANN, MailServers } from './mail-servers.js'

const plugin = path.join(import.meta.dirname, '../../plugins/channel-email/dist/index.cjs')
const channel = createRequire(import.meta.url)(plugin) as Channel
const servers = new MailServers()
const FULL = 'full@example.org'
/** More rounds than the state of a server needs to show. */
const ROUNDS_MAX = 100

beforeAll(async () => {
  await servers.start()
  for (const address of [AGENT, ANN]) servers.addUser(address)
  servers.addUser(FULL, 'messages=1')
})

afterAll(() => servers.close())

afterEach(() => {
  servers.policy = () => 'DUNNO'
})

async function opened(over: Record<string, string> = {}): Promise<ChannelConnection> {
  const connection = await channel.open({ options: { ...servers.options, ...over } })
  onTestFinished(() => connection.close())
  return connection
}

function receive(connection: ChannelConnection, cursor: string | null, waitMs = 0): Promise<Received> {
  return connection.receive({ cursor, waitMs, messagesMax: 10 }, new AbortController().signal)
}

async function cursorNow(connection: ChannelConnection): Promise<string> {
  return (await receive(connection, null)).cursor
}

let ids = 0
function send(connection: ChannelConnection, sender: string, idempotencyId = newId()) {
  const replyTo = { id: '<1@example.org>', sender, context: '{"subject":"x","references":[]}' }
  const message = { thread: 'a'.repeat(24), text: 'reply', idempotencyId, replyTo }
  return connection.send(message, new AbortController().signal)
}

function newId(): string {
  return `00000000-0000-4000-a000-${String(++ids).padStart(12, '0')}`
}

async function failureOf(work: Promise<unknown>): Promise<ChannelFailure> {
  try {
    await work
  } catch (error) {
    return error as ChannelFailure
  }
  throw new Error('it has not failed')
}

describe('a reply', () => {
  test('to a recipient that the server does not know is refused for good', async () => {
    const failure = await failureOf(send(await opened(), 'unknown@example.org'))
    expect(failure.message).toContain('550 5.1.1')
    expect(failure.failure).toEqual({ permanent: true })
  })

  test('to a full mailbox is tried again, and arrives once there is room', async () => {
    const connection = await opened()
    await send(connection, FULL)
    await servers.waitForMail(FULL, 1)
    const failure = await failureOf(send(connection, FULL))
    expect(failure.message).toMatch(/552 5\.2\.2 .*Mailbox is full/)
    expect(failure.failure).toEqual({ permanent: false, retryAfterMs: 1000 })
    servers.empty(FULL)
    await send(connection, FULL)
    await servers.waitForMail(FULL, 1)
  })

  test('is tried again after greylisting, when the server says', async () => {
    const connection = await opened()
    const seen = new Set<string | undefined>()
    servers.policy = (attributes) => {
      const triplet = ['client_address', 'sender', 'recipient'].map((name) => attributes.get(name)).join()
      if (seen.has(triplet)) return 'DUNNO'
      seen.add(triplet)
      return '450 4.2.0 Greylisted, please try again in 300 seconds'
    }
    const id = newId()
    const failure = await failureOf(send(connection, ANN, id))
    expect(failure.failure).toEqual({ permanent: false, retryAfterMs: 300_000 })
    const sent = await send(connection, ANN, id)
    expect(sent.id).toBe(`<${id}.${'a'.repeat(24)}@example.org>`)
  })

  test.each(['421 4.3.2 shutting down', '451 4.3.0 try later', '452 4.2.2 mailbox full'])(
    'that the server defers with %s is tried again after the setting',
    async (answer) => {
      const connection = await opened()
      servers.policy = () => answer
      expect((await failureOf(send(connection, ANN))).failure).toEqual({
        permanent: false,
        retryAfterMs: 1000,
      })
    },
  )

  test('that is too large for the server is refused for good', async () => {
    const connection = await opened()
    servers.policy = () => '552 5.3.4 message too big'
    expect((await failureOf(send(connection, ANN))).failure).toEqual({ permanent: true })
  })

  test('goes out although a copy is refused', async () => {
    const connection = await opened({ cc: `unknown@example.org, ${FULL}` })
    const count = servers.mailFiles(ANN).length
    await send(connection, ANN)
    await servers.waitForMail(ANN, count + 1)
  })

  test('is sent after postfix was stopped and started', async () => {
    const connection = await opened()
    await servers.stop('postfix')
    const failure = await failureOf(send(connection, ANN))
    expect(failure.failure).toEqual({ permanent: false, retryAfterMs: 1000 })
    await servers.startPostfix()
    const count = servers.mailFiles(ANN).length
    await send(connection, ANN)
    await servers.waitForMail(ANN, count + 1)
  })
})

describe('the login', () => {
  test('to send mail is tried when the channel opens, so that no reply is dropped for it', async () => {
    const failure = await failureOf(opened({ smtp_password: 'wrong' }))
    expect(failure.message).toMatch(/^the SMTP server localhost refuses the login of agent@example.org: 535/)
    expect(failure.failure.permanent).toBe(true)
    expect(failure.message).not.toContain('wrong')
  })

  test('to the mailbox is refused for good if the password is wrong', async () => {
    const connection = await opened({ password: 'wrong', smtp_password: servers.options.password as string })
    const failure = await failureOf(receive(connection, null))
    expect(failure.message).toMatch(/^the IMAP server localhost refuses the login of agent@example.org: /)
    expect(failure.failure.permanent).toBe(true)
  })
})

describe('a connection', () => {
  test('with an untrusted certificate is refused', async () => {
    const { ca: _, ...options } = servers.options
    const failure = await failureOf(channel.open({ options }))
    expect(failure.message).toContain('certificate')
    expect(failure.failure.permanent).toBe(true)
    const connection = await opened()
    const other = await opened({ imap: `imaps://127.0.0.2:${servers.ports.imaps}` })
    expect((await failureOf(receive(other, null))).failure.permanent).toBe(false)
    await cursorNow(connection)
  })

  const FORMS: [string, (ports: MailServers['ports']) => Record<string, string>][] = [
    [
      'by STARTTLS',
      ({ imap, submission }) => ({
        imap: `imap://localhost:${imap}`,
        smtp: `smtp://localhost:${submission}`,
      }),
    ],
    [
      'without TLS on the loopback',
      ({ imap, submission }) => ({
        ...{ imap: `imap://127.0.0.1:${imap}`, smtp: `smtp://127.0.0.1:${submission}`, tls: 'none' },
      }),
    ],
  ]
  test.each(FORMS)('%s receives and sends', async (_, options) => {
    const connection = await opened(options(servers.ports))
    const cursor = await cursorNow(connection)
    await servers.send(ANN, { text: 'hello' })
    const { messages } = await receive(connection, cursor, 60_000)
    expect(messages.map(({ text }) => text)).toEqual(['hello'])
    await send(connection, ANN)
  })

  test('to a folder that does not exist is refused for good', async () => {
    const failure = await failureOf(receive(await opened({ mailbox: 'Nowhere' }), null))
    expect([failure.message, failure.failure.permanent]).toEqual([
      'the IMAP server localhost has no folder Nowhere',
      true,
    ])
  })
})

describe('the mailbox', () => {
  test('is read on after dovecot was stopped and started while the channel waited for mail', async () => {
    const connection = await opened()
    const cursor = await cursorNow(connection)
    const waiting = failureOf(receive(connection, cursor, 600_000))
    await servers.stop('dovecot')
    expect((await waiting).failure.permanent).toBe(false)
    expect((await failureOf(receive(connection, cursor))).failure.permanent).toBe(false)
    await servers.startDovecot()
    await servers.send(ANN, { text: 'after the restart' })
    expect((await receive(connection, cursor, 600_000)).messages.map(({ text }) => text)).toEqual([
      'after the restart',
    ])
  })

  test('is read again from its beginning when UIDVALIDITY changes, with the same ids', async () => {
    const connection = await opened()
    const before = await all(connection, '1:0')
    expect(before.messages.length).toBeGreaterThan(1)
    await connection.close()
    // dovecot begins a new numbering without the old one.
    for (const pattern of ['dovecot-uidlist', 'dovecot-uidvalidity*', 'dovecot.index*'])
      execFileSync('sh', ['-c', `rm -rf ${servers.file('mail', AGENT, 'Maildir')}/${pattern}`])
    const again = await opened()
    const { cursor, messages } = await all(again, before.cursor)
    expect(messages.map(({ id }) => id).sort()).toEqual(before.messages.map(({ id }) => id).sort())
    expect(cursor.split(':')[0]).not.toBe(before.cursor.split(':')[0])
    expect((await receive(again, cursor)).messages).toEqual([])
  })

  test('keeps its mail as it was', async () => {
    const connection = await opened()
    await all(connection, '1:0')
    expect(servers.mailFiles(AGENT).filter((file) => /:2,.*S/.test(file))).toEqual([])
  })

  async function all(connection: ChannelConnection, from: string) {
    const messages: IncomingMessage[] = []
    let cursor = from
    for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
      const received = await receive(connection, cursor)
      messages.push(...received.messages)
      if (received.cursor === cursor) break
      cursor = received.cursor
    }
    return { messages, cursor }
  }
})
