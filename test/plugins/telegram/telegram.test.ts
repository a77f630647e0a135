/** The messages of people in Telegram, and the failures of its service. */
import { describe, expect, test } from 'vitest'
import type { ChannelConnection, ChannelFailure, IncomingMessage } from '../../../src/channel/contract.js'
import { newTelegram, refuse, type Shown, type Telegram, TOKEN } from '../../support/telegram.js'
import { waitFor } from '../../support/wait.js'
import { telegramChannel } from './plugin.js'

const channel = await telegramChannel()
const ANN = 77
const GROUP = { id: -100_500, type: 'supergroup' as const }
const NEVER = new AbortController().signal

function open(telegram: Telegram, token = TOKEN): Promise<ChannelConnection> {
  return channel.open({ options: { token, base_url: telegram.url } })
}

async function receive(connection: ChannelConnection, cursor: string | null = null, waitMs = 0) {
  return connection.receive({ cursor, waitMs, messagesMax: 100 }, NEVER)
}

async function messagesOf(telegram: Telegram): Promise<IncomingMessage[]> {
  return (await receive(await open(telegram))).messages
}

function answerTo(thread: string, text = 'hello', id = `${thread}/5/00`) {
  return {
    thread,
    text,
    idempotencyId: 'f2f1c5f0-0000-4000-a000-000000000000',
    replyTo: { id, sender: '77' },
  }
}

async function failureOf(work: Promise<unknown>): Promise<ChannelFailure['failure'] & { message: string }> {
  const error = (await work.then(
    () => new Error('the call did not fail'),
    (thrown) => thrown,
  )) as ChannelFailure
  expect(JSON.stringify([error.message, error.stack, error.cause])).not.toContain('secret_token')
  return { message: error.message, ...error.failure }
}

describe('a message', () => {
  test('names its sender by the number of the account, and its thread by the number of the chat', async () => {
    const telegram = await newTelegram()
    telegram.write(ANN, ' hello ', {
      from: { id: ANN, first_name: 'Ann', last_name: 'Lee', username: 'ann' },
    })
    expect(await messagesOf(telegram)).toEqual([
      {
        id: expect.stringMatching(/^77\/1\/[0-9a-f]{16}$/),
        thread: '77',
        sender: '77',
        senderName: 'Ann Lee @ann',
        text: 'hello',
        sentAt: '2026-09-21T14:13:20.000Z',
      },
    ])
  })

  test('is another one if an edit has changed its text, and the same one after any other edit', async () => {
    const telegram = await newTelegram()
    const first = telegram.write(ANN, 'make tea')
    telegram.add('edited_message', { ...first, edit_date: 1_790_000_060 })
    telegram.add('edited_message', { ...first, edit_date: 1_790_000_090, text: 'make coffee' })
    const [written, untouched, edited] = await messagesOf(telegram)
    expect(untouched?.id).toBe(written?.id)
    expect(edited?.id).not.toBe(written?.id)
    expect(edited).toMatchObject({
      text: 'make coffee',
      senderName: 'Person 77 (edited)',
      sentAt: '2026-09-21T14:14:50.000Z',
    })
  })

  test('has its caption as text, and the names of its attachments', async () => {
    const telegram = await newTelegram()
    telegram.write(ANN, '', { text: undefined, caption: 'read this', document: { file_name: 'plan.pdf' } })
    telegram.write(ANN, '', { text: undefined, photo: [{}] })
    telegram.write(ANN, '', { text: undefined, animation: {}, document: {} })
    telegram.write(ANN, '', { text: undefined, voice: {} })
    const messages = await messagesOf(telegram)
    expect(messages.map(({ text, attachments }) => [text, attachments])).toEqual([
      ['read this', ['plan.pdf']],
      ['', ['a photo']],
      ['', ['an animation']],
      ['', ['a voice message']],
    ])
  })

  test('is ignored if a bot, a channel, a hidden administrator or the service wrote it', async () => {
    const telegram = await newTelegram()
    telegram.write(ANN, 'I am a bot', { from: { id: 9, is_bot: true, first_name: 'x' } })
    telegram.write(ANN, 'I am a channel', { sender_chat: { id: -1, type: 'channel' } })
    telegram.write(ANN, '', { new_chat_members: [] })
    telegram.write(ANN, 'I am nobody', { from: undefined })
    const { messages, cursor } = await receive(await open(telegram))
    expect([messages, cursor]).toEqual([[], '1005'])
  })
})

describe('in a group', () => {
  const mention = (text: string, name: string) => ({
    text,
    entities: [{ type: 'mention', offset: text.indexOf(name), length: name.length }],
  })

  test('a message is for the bot if it mentions the bot, answers it, or is a command to it', async () => {
    const telegram = await newTelegram()
    const bot = { id: 4242, is_bot: true }
    telegram.post(ANN, GROUP, { text: 'hello all' })
    telegram.post(ANN, GROUP, mention('@Helper_Bot approve 1a2b3c4d', '@Helper_Bot'))
    telegram.post(ANN, GROUP, mention('ask @helper_bot', '@helper_bot'))
    telegram.post(ANN, GROUP, mention('ask @helper_bot_2', '@helper_bot_2'))
    telegram.post(ANN, GROUP, { text: 'yes', reply_to_message: { from: bot } })
    telegram.post(ANN, GROUP, { text: 'to you', reply_to_message: { from: { id: ANN } } })
    telegram.post(ANN, GROUP, {
      text: '/ask@helper_bot why',
      entities: [{ type: 'bot_command', offset: 0, length: 15 }],
    })
    telegram.post(ANN, GROUP, {
      text: 'Helper, why?',
      entities: [{ type: 'text_mention', offset: 0, length: 6, user: bot }],
    })
    const messages = await messagesOf(telegram)
    expect(messages.map(({ text }) => text)).toEqual([
      'approve 1a2b3c4d',
      'ask @helper_bot',
      'yes',
      '/ask@helper_bot why',
      'Helper, why?',
    ])
    expect(new Set(messages.map(({ thread }) => thread))).toEqual(new Set(['-100500']))
  })

  test('each topic of a forum is a thread, and other chains of answers are not', async () => {
    const telegram = await newTelegram()
    const toBot = { reply_to_message: { from: { id: 4242 } } }
    telegram.post(ANN, GROUP, { text: 'a', ...toBot, message_thread_id: 31, is_topic_message: true })
    telegram.post(ANN, GROUP, { text: 'b', ...toBot, message_thread_id: 32 })
    // A message in a topic that the bot has opened answers the notice of that.
    const opening = { from: { id: 4242 }, forum_topic_created: {} }
    telegram.post(ANN, GROUP, {
      ...{ text: 'c', reply_to_message: opening, message_thread_id: 31, is_topic_message: true },
    })
    expect((await messagesOf(telegram)).map(({ text, thread }) => [text, thread])).toEqual([
      ['a', '-100500/31'],
      ['b', '-100500'],
    ])
  })

  test('an answer goes to the topic, and quotes the message if that still exists', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    await connection.send(answerTo('-100500/31', 'done', '-100500/12/ab'), NEVER)
    expect(telegram.calls.at(-1)?.payload).toEqual({
      chat_id: -100_500,
      message_thread_id: 31,
      text: 'done',
      link_preview_options: { is_disabled: true },
      reply_parameters: { message_id: 12, allow_sending_without_reply: true },
    })
  })
})

describe('a button', () => {
  test('that is pressed is a message with its text, and its sign of progress ends once that is recorded', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    const buttons = [
      { label: 'Approve', text: 'approve 1a2b3c4d' },
      { label: 'Longer', text: `${'é'.repeat(32)}!` },
    ]
    await connection.send({ ...answerTo('77', 'Shall I?'), buttons }, NEVER)
    const [shown] = telegram.shown as [Shown]
    expect(shown.buttons).toEqual([{ text: 'Approve', callback_data: 'approve 1a2b3c4d' }])
    telegram.press(ANN, shown, 'Approve')
    const { messages, cursor } = await receive(connection)
    expect(messages).toEqual([
      {
        id: expect.stringMatching(/^button\/press\d+$/),
        thread: '77',
        sender: '77',
        senderName: 'Person 77',
        text: 'approve 1a2b3c4d',
      },
    ])
    await receive(connection)
    expect(telegram.answeredPresses).toEqual([])
    await receive(connection, cursor)
    await waitFor(() => telegram.answeredPresses.length === 1, 'the answer to the press')
  })
})

describe('the cursor', () => {
  test('alone confirms updates', async () => {
    const telegram = await newTelegram()
    for (const text of ['a', 'b']) telegram.write(ANN, text)
    const connection = await open(telegram)
    const first = await receive(connection)
    expect([first.messages.length, first.cursor, telegram.pending.length]).toEqual([2, '1003', 2])
    expect((await receive(connection, '1002')).messages.map(({ text }) => text)).toEqual(['b'])
    expect(telegram.pending.map(({ update_id }) => update_id)).toEqual([1002])
    await connection.close()
  })

  test('follows the numbers of updates when these begin again', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    telegram.restartNumbersAt(500)
    telegram.write(ANN, 'after a week')
    const { messages, cursor } = await receive(connection, '90000')
    expect([messages.map(({ text }) => text), cursor]).toEqual([['after a week'], '501'])
  })
})

describe('a failure of the service', () => {
  const failAll = (telegram: Telegram, answer: Telegram['before']) => {
    telegram.before = answer
  }

  test('with retry_after names the pause', async () => {
    const telegram = await newTelegram()
    failAll(telegram, (_, response) => refuse(response, 429, 'Too Many Requests: retry after 7', 7))
    const connection = await open(telegram)
    const expected = { permanent: false, retryAfterMs: 7000 }
    expect(await failureOf(connection.send(answerTo('77'), NEVER))).toMatchObject(expected)
    expect(await failureOf(receive(connection))).toMatchObject(expected)
  })

  test('with a status of 500 or more, or with a page in place of an answer, may pass', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    failAll(telegram, (_, response) => refuse(response, 502, 'Bad Gateway'))
    expect(await failureOf(connection.send(answerTo('77'), NEVER))).toEqual({
      permanent: false,
      notShown: true,
      message: 'Telegram did not take the message: Bad Gateway',
    })
    failAll(telegram, (_, response) => {
      response.writeHead(503).end('<html>')
      return true
    })
    expect(await failureOf(receive(connection))).toEqual({
      permanent: false,
      message: 'Telegram gave no messages: it answered with status 503, but not as the Bot API does',
    })
  })

  test('that breaks the connection before or after the message was taken may pass', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    const drop: Telegram['after'] = (_, response) => {
      response.destroy()
      return true
    }
    const failure = async () => failureOf(connection.send(answerTo('77'), NEVER))
    const message = expect.stringContaining('ECONNRESET')
    const broken = { permanent: false, retryAfterMs: 300_000, message }
    telegram.before = drop
    expect(await failure()).toEqual(broken)
    telegram.before = () => false
    telegram.after = drop
    expect(await failure()).toEqual(broken)
    expect(telegram.shown).toHaveLength(1)
  })

  test('whose outcome is unknown names a pause that outlasts a short outage, and a failure to receive names none', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    telegram.after = (method, response) =>
      method === 'sendMessage' && !!response.writeHead(502).end('<html>Bad Gateway</html>')
    const failure = await failureOf(connection.send(answerTo('77', 'shown'), NEVER))
    expect(failure).toMatchObject({ permanent: false, retryAfterMs: 300_000 })
    expect(failure).not.toHaveProperty('notShown')
    const options = { token: TOKEN, base_url: telegram.url, retry_after: '20m' }
    const patient = await channel.open({ options })
    telegram.after = (_, response) => !!response.destroy()
    expect(await failureOf(patient.send(answerTo('77'), NEVER))).toMatchObject({ retryAfterMs: 1_200_000 })
    expect(await failureOf(receive(patient))).not.toHaveProperty('retryAfterMs')
  })

  test('that breaks a kept connection leaves no message that the plugin sends again by itself', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram)
    await receive(connection)
    await connection.send(answerTo('77', 'first'), NEVER)
    telegram.after = (method, response) => method === 'sendMessage' && !!response.destroy()
    await failureOf(connection.send(answerTo('77', 'second'), NEVER))
    expect(telegram.textsIn(ANN)).toEqual(['first', 'second'])
  })

  test('because the port is closed names the host, and may pass', async () => {
    const connection = await channel.open({ options: { token: TOKEN, base_url: 'http://127.0.0.1:9' } })
    const facts = { permanent: false, notShown: true }
    expect(await failureOf(receive(connection))).toEqual({
      ...facts,
      message: 'Telegram gave no messages: 127.0.0.1:9 cannot be reached (ECONNREFUSED)',
    })
    expect(await failureOf(connection.send(answerTo('77'), NEVER))).toMatchObject(facts)
    const ended = AbortSignal.abort()
    expect(await failureOf(connection.send(answerTo('77'), ended))).toMatchObject(facts)
  })

  test('because the user has blocked the bot is permanent', async () => {
    const telegram = await newTelegram()
    telegram.blockedBy.add(ANN)
    expect(await failureOf((await open(telegram)).send(answerTo('77'), NEVER))).toEqual({
      permanent: true,
      notShown: true,
      message: 'Telegram did not take the message: Forbidden: bot was blocked by the user',
    })
  })

  test('because the token is wrong is permanent, and does not show the token', async () => {
    const telegram = await newTelegram()
    const connection = await open(telegram, '4242:other-secret_token')
    const message = /it refuses the token of the bot \(Unauthorized\)$/
    for (const work of [receive(connection), connection.send(answerTo('77'), NEVER)])
      expect(await failureOf(work)).toMatchObject({
        permanent: true,
        message: expect.stringMatching(message),
      })
  })

  test('because another program polls may pass, and because the bot has a webhook is permanent', async () => {
    const telegram = await newTelegram()
    const [first, second] = [await open(telegram), await open(telegram)]
    const ended = failureOf(receive(first, null, 50_000))
    await waitFor(() => telegram.calls.some(({ method }) => method === 'getUpdates'), 'the first poll')
    await receive(second)
    expect(await ended).toMatchObject({
      permanent: false,
      message: 'Telegram gave no messages: another program receives the messages of this bot; stop it',
    })
    failAll(telegram, (_, response) =>
      refuse(response, 409, "Conflict: can't use getUpdates method while webhook is active"),
    )
    expect(await failureOf(receive(first))).toMatchObject({ permanent: true })
  })
})

test.each([
  [{}, 'the option token is missing'],
  [{ token: 'secret' }, 'the option token is not the token of a bot'],
  [{ token: TOKEN, base_url: 'file:///etc' }, 'base_url must begin with http:// or https://'],
])('the options %j are refused', (options, message) => {
  expect(() => channel.check?.({ options: options as Record<string, string> })).toThrow(message)
})
