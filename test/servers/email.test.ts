/** The channel email against dovecot and postfix: the promises of channels, and the failures of the servers. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { channelCases, type ServiceFixture } from '../../src/channel/conformance/conformance.js'
import type { Channel } from '../../src/channel/contract.js'
import { AGENT, ANN, BOB, MailServers } from './mail-servers.js'

const plugin = path.join(import.meta.dirname, '../../plugins/channel-email/dist/index.cjs')
const channel = createRequire(import.meta.url)(plugin) as Channel
const servers = new MailServers()

beforeAll(async () => {
  await servers.start()
  for (const address of [AGENT, ANN, BOB]) servers.addUser(address)
})

afterAll(() => servers.close())

afterEach(() => {
  servers.policy = () => 'DUNNO'
})

async function newService(): Promise<ServiceFixture> {
  const seenBefore = servers.mailFiles(ANN).length
  const seen = async () => (await servers.mailOf(ANN)).slice(seenBefore)
  const arrived = async (work: () => Promise<void>): Promise<void> => {
    const count = servers.mailFiles(AGENT).length
    await work()
    await servers.waitForMail(AGENT, count + 1)
  }
  let isRefusing = false
  return {
    options: servers.options,
    person: ANN,
    begin: (text) => arrived(() => servers.send(ANN, { text })),
    answer: async (_, text) => {
      const latest = (await seen()).at(-1)
      const references = `${latest?.references ?? ''} ${latest?.messageId}`
      await arrived(() =>
        servers.send(ANN, { text, inReplyTo: latest?.messageId, references, subject: latest?.subject }),
      )
    },
    async seen() {
      if (!isRefusing) await servers.allDelivered()
      return (await seen()).map(({ text = '' }) => ({ text: text.replace(/\n$/, '') }))
    },
    async refuse() {
      isRefusing = true
      servers.policy = () => '550 5.1.1 no such person'
    },
    async limit(retryAfterMs) {
      servers.policy = () => {
        servers.policy = () => 'DUNNO'
        return `450 4.7.1 too many mails, try again in ${retryAfterMs / 1000} seconds`
      }
    },
    showsOnce: true,
    close: async () => undefined,
  }
}

describe('the channel keeps the contract', () => {
  for (const { title, run } of channelCases(channel, newService)) test(title, run)
})
