/** The plugin of Telegram keeps the contract of channels, against a Bot API on the loopback. */
import { describe, expect, test } from 'vitest'
import { channelCases, type ServiceFixture } from '../../../src/channel/conformance/conformance.js'
import { newTelegram, refuse, type Shown, TOKEN } from '../../support/telegram.js'
import { telegramChannel } from './plugin.js'

const PERSON = 77

async function newService(): Promise<ServiceFixture> {
  const telegram = await newTelegram()
  return {
    options: { token: TOKEN, base_url: telegram.url },
    person: String(PERSON),
    begin: async (text) => void telegram.write(PERSON, text),
    answer: async (thread, text) => {
      const latest = telegram.shown.at(-1) as Shown
      expect(thread).toBe(String(latest.chat.id))
      telegram.post(PERSON, latest.chat, { text })
    },
    seen: async () => telegram.shown,
    refuse: async () => void telegram.blockedBy.add(PERSON),
    limit: async (retryAfterMs) => {
      let isLimited = false
      telegram.before = (method, response) => {
        if (method !== 'sendMessage' || isLimited) return false
        isLimited = true
        return refuse(response, 429, 'Too Many Requests: retry later', retryAfterMs / 1000)
      }
    },
    showsOnce: false,
    close: async () => undefined,
  }
}

const channel = await telegramChannel()

describe('the channel of Telegram keeps the contract', () => {
  for (const { title, run } of channelCases(channel, newService)) test(title, run)
})
