/** The conformance suite accepts a channel that keeps the contract, and names the promise that a broken one breaks. */
import { describe, expect, test } from 'vitest'
import {
  type ChannelCase,
  channelCases,
  type ServiceFixture,
} from '../../src/channel/conformance/conformance.js'
import type { Channel, ChannelConnection } from '../../src/channel/contract.js'
import { loopbackChannel, newPlatform } from '../support/platform.js'

async function newService(): Promise<ServiceFixture> {
  const platform = await newPlatform()
  return {
    options: { url: platform.url },
    person: 'ann',
    begin: async (text) => platform.write({ text, thread: `t${platform.updates.length}` }),
    answer: async (thread, text) => platform.write({ text, thread }),
    seen: async () => platform.posted,
    refuse: async () => {
      platform.onSend = (_, response) => {
        response.writeHead(403).end()
        return true
      }
    },
    limit: async (retryAfterMs) => {
      platform.onSend = (_, response) => {
        response.writeHead(429, { 'retry-after': String(retryAfterMs / 1000) }).end()
        platform.onSend = () => false
        return true
      }
    },
    showsOnce: true,
    close: async () => undefined,
  }
}

describe('a channel that keeps the contract', () => {
  for (const { title, run } of channelCases(loopbackChannel(), newService)) test(title, run)
})

/** The channel with another connection. */
function broken(change: (connection: ChannelConnection) => Partial<ChannelConnection>): Channel {
  const channel = loopbackChannel()
  return {
    ...channel,
    async open(settings) {
      const connection = await channel.open(settings)
      return { ...connection, ...change(connection) }
    },
  }
}

describe('the suite names the promise that a channel breaks', () => {
  let lost = 0
  const BROKEN: [string, string, Channel][] = [
    [
      'it forgets the cursor',
      'later messages are',
      broken((connection) => ({
        receive: (request, signal) => connection.receive({ ...request, cursor: null }, signal),
      })),
    ],
    [
      'it loses messages after a restart',
      'the same at each delivery',
      broken((connection) => {
        const generation = lost++
        return {
          receive: async (request, signal) => {
            const { messages, cursor } = await connection.receive(request, signal)
            return { cursor, messages: messages.map((each) => ({ ...each, id: `${each.id}-${generation}` })) }
          },
        }
      }),
    ],
    [
      'it ignores the limit',
      'at most messagesMax',
      broken((connection) => ({
        receive: (request, signal) => connection.receive({ ...request, messagesMax: 100 }, signal),
      })),
    ],
    [
      'it swallows a refusal',
      'must fail as permanent',
      broken((connection) => ({
        send: async (message, signal) => connection.send(message, signal).catch(() => ({})),
      })),
    ],
    [
      'it shortens a text',
      'the text as it is',
      broken((connection) => ({
        send: (message, signal) => connection.send({ ...message, text: message.text.slice(0, 50) }, signal),
      })),
    ],
  ]
  test.each(BROKEN)('%s', async (_, sentence, channel) => {
    const failures: string[] = []
    for (const { run } of titlesOnce(channelCases(channel, newService)))
      await run().catch((error: Error) => failures.push(error.message))
    expect(failures.join('\n')).toContain(sentence)
  })
})

/** Without the cases that wait for a message that a broken channel never returns. */
function titlesOnce(cases: ChannelCase[]): ChannelCase[] {
  return cases.filter(({ title }) => !title.startsWith('receive waits'))
}
