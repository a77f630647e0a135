/**
 * The conformance suite of channels (`substrat/channel-conformance`): the promises of `Channel`, as cases for any test runner.
 *
 *     for (const { title, run } of channelCases(channel, newService)) test(title, run)
 *
 * A case throws an Error that names the broken promise.
 */
import type { Channel, IncomingMessage, Received } from '../contract.js'
import { type ChannelCase, demand, type NewService, PromiseBroken } from './case.js'
import { newId, Service } from './service.js'

export type { ChannelCase, NewService, ServiceFixture } from './case.js'

export function channelCases(channel: Channel, newService: NewService): ChannelCase[] {
  const caseOf = (title: string, run: (service: Service) => Promise<void>): ChannelCase => ({
    title,
    async run() {
      const fixture = await newService()
      const service = new Service(channel, fixture)
      try {
        await run(service)
      } finally {
        await service.close()
        await fixture.close()
      }
    },
  })
  return [
    {
      title: 'the channel, and each of its options, has a description of one line',
      run: () => checkFacts(channel),
    },
    caseOf('check accepts options that work', async ({ fixture }) => {
      channel.check?.({ options: fixture.options })
    }),
    ...receivingCases(caseOf),
    ...sendingCases(channel, caseOf),
  ]
}

async function checkFacts(channel: Channel): Promise<void> {
  for (const text of [channel.description, ...Object.values(channel.options)])
    demand(text !== '' && !text.includes('\n'), `a description must be one line: ${JSON.stringify(text)}`)
  for (const secret of channel.secrets)
    demand(Object.hasOwn(channel.options, secret), `the secret ${secret} must be an option`)
  demand(channel.textCharactersMax >= 100, 'a message must take at least 100 characters')
}

type CaseOf = (title: string, run: (service: Service) => Promise<void>) => ChannelCase

function receivingCases(caseOf: CaseOf): ChannelCase[] {
  return [
    caseOf(
      'receive returns each message with its id, thread, sender and text, oldest first',
      async (service) => {
        const before = await service.cursorNow()
        await service.fixture.begin('first')
        await service.fixture.begin('second')
        const messages = await service.receiveAll(before, 2)
        demand(
          isEqual(textsOf(messages), ['first', 'second']),
          `the texts are ${JSON.stringify(textsOf(messages))}`,
        )
        const ids = new Set(messages.map(({ id }) => id))
        demand(ids.size === 2, 'each message must have an id of its own')
        for (const { id, thread, sender } of messages) {
          demand(id.length > 0 && id.length <= 200, 'an id must have 1 to 200 characters')
          demand(thread !== '', 'each message must have a thread')
          demand(sender === service.fixture.person, `the sender must be ${service.fixture.person}: ${sender}`)
        }
      },
    ),
    caseOf('the same cursor returns the same messages again, also to another process', async (service) => {
      const before = await service.cursorNow()
      await service.fixture.begin('again')
      const first = await service.receiveAll(before, 1)
      await service.reconnect()
      const second = await service.receiveAll(before, 1)
      demand(isEqual(first, second), 'a message must be the same at each delivery')
    }),
    caseOf('the next cursor returns only later messages', async (service) => {
      const before = await service.cursorNow()
      await service.fixture.begin('old')
      const { messages, cursor } = await service.receiveOnce(before)
      demand(messages.length === 1, 'the first message must come')
      await service.reconnect()
      await service.fixture.begin('new')
      const later = await service.receiveAll(cursor, 1)
      demand(isEqual(textsOf(later), ['new']), `later messages are ${JSON.stringify(textsOf(later))}`)
    }),
    caseOf(
      'receive returns at most as many messages as it is asked for, and then the rest',
      async (service) => {
        const before = await service.cursorNow()
        for (const text of ['a', 'b', 'c']) await service.fixture.begin(text)
        const all: string[] = []
        let cursor: string | null = before
        while (all.length < 3) {
          const received: Received = await service.receiveOnce(cursor, 2)
          demand(received.messages.length <= 2, 'receive must return at most messagesMax messages')
          all.push(...textsOf(received.messages))
          cursor = received.cursor
        }
        demand(isEqual(all, ['a', 'b', 'c']), `the texts are ${JSON.stringify(all)}`)
      },
    ),
    caseOf('receive without a wait returns at once if there is nothing', async (service) => {
      const cursor = await service.cursorNow()
      const { messages } = await service.receiveNow(cursor)
      demand(messages.length === 0, 'receive must return without a message')
    }),
    caseOf('receive waits for a message', async (service) => {
      const cursor = await service.cursorNow()
      const received = service.receiveAll(cursor, 1)
      await service.fixture.begin('awaited')
      demand(isEqual(textsOf(await received), ['awaited']), 'the awaited message must come')
    }),
    caseOf('receive ends soon after its signal', async (service) => {
      const cursor = await service.cursorNow()
      const stop = new AbortController()
      const received = service.connection.then((connection) =>
        connection.receive({ cursor, waitMs: 60_000, messagesMax: 10 }, stop.signal),
      )
      const ended = received.then(
        () => undefined,
        () => undefined,
      )
      setTimeout(() => stop.abort(), 100)
      await within(20_000, ended, 'receive must end soon after its signal')
    }),
  ]
}

function sendingCases(channel: Channel, caseOf: CaseOf): ChannelCase[] {
  return [
    caseOf('send posts to the thread, and the answer to it comes from the same thread', async (service) => {
      const first = await service.begun('hello')
      await service.send(first, 'hello back')
      demand((await service.seenTexts()).includes('hello back'), 'the person must see the message')
      const cursor = await service.cursorNow()
      await service.fixture.answer(first.thread, 'thanks')
      const [next] = await service.receiveAll(cursor, 1)
      demand(next?.text === 'thanks', `the answer must come: ${JSON.stringify(next?.text)}`)
      demand(next.thread === first.thread, 'an answer must come from the same thread')
    }),
    caseOf('send posts the longest text, and characters of all kinds', async (service) => {
      const first = await service.begun('hello')
      const text =
        `ä€😀 <b>&amp;</b> *x* _y_ [z](q)\n.\nFrom here\n${'x'.repeat(channel.textCharactersMax)}`.slice(
          0,
          channel.textCharactersMax,
        )
      await service.send(first, text)
      const [seen = ''] = (await service.seenTexts()).slice(-1)
      demand(seen.trimEnd() === text.trimEnd(), 'the person must see the text as it is')
    }),
    caseOf(
      'a message that is sent twice with one idempotency id is shown once, if the service can do that',
      async (service) => {
        const first = await service.begun('hello')
        const idempotencyId = newId()
        await service.send(first, 'once', { idempotencyId })
        await service.send(first, 'once', { idempotencyId })
        const count = (await service.seenTexts()).filter((text) => text === 'once').length
        demand(count === (service.fixture.showsOnce ? 1 : 2), `the person sees it ${count} times`)
      },
    ),
    caseOf('send posts a message with buttons', async (service) => {
      const first = await service.begun('hello')
      const buttons = [{ label: 'Approve', text: 'approve 1a2b3c4d' }]
      await service.send(first, 'Shall I?', { buttons })
      demand(
        (await service.seenTexts()).some((text) => text.startsWith('Shall I?')),
        'the person must see it',
      )
    }),
    caseOf('a message that the service refuses for good fails as permanent', async (service) => {
      const { refuse } = service.fixture
      if (refuse === undefined) return
      const first = await service.begun('hello')
      await refuse()
      const failure = await service.failureOf(first)
      demand(failure?.permanent === true, 'a refused message must fail as permanent')
    }),
    caseOf('a rate limit fails with the time after which to send again', async (service) => {
      const { limit } = service.fixture
      if (limit === undefined) return
      const first = await service.begun('hello')
      await limit(3000)
      const failure = await service.failureOf(first)
      demand(failure?.permanent === false, 'a rate limit must not be permanent')
      demand(failure.retryAfterMs === 3000, `retryAfterMs must be 3000: ${failure.retryAfterMs}`)
      await service.send(first, 'after the pause')
      demand((await service.seenTexts()).includes('after the pause'), 'the next attempt must succeed')
    }),
  ]
}

async function within(ms: number, promise: Promise<unknown>, sentence: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new PromiseBroken(sentence)), ms)
  })
  await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function textsOf(messages: IncomingMessage[]): string[] {
  return messages.map(({ text }) => text)
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
