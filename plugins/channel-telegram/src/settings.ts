/** Reads and checks the options. No message has the token. */
import type { ChannelSettings } from 'substrat/channel'
import { baseUrlOf, durationOf } from '../../shared/src/model/settings.js'

export const OPTIONS = {
  token: 'the token of the bot, from @BotFather',
  base_url: 'URL of the Bot API (https://api.telegram.org)',
  retry_after: 'the pause after an attempt whose outcome is unknown (5m)',
} satisfies Record<string, string>

export interface BotSettings {
  token: string
  /** The first part of the token. */
  botId: number
  /** Without a slash at its end. */
  baseUrl: string
  retryAfterMs: number
}

/** After an attempt of unknown outcome there is one more. It must come after an outage of a few minutes. */
const RETRY_AFTER_MS = 5 * 60_000

export function readSettings({ options }: ChannelSettings): BotSettings {
  const { token, base_url, retry_after } = options
  if (token === undefined) throw new Error('the option token is missing')
  const [, id] = /^(\d+):[\w-]+$/.exec(token) ?? []
  if (id === undefined)
    throw new Error('the option token is not the token of a bot: digits, a colon, then letters and digits')
  const { href } = baseUrlOf(base_url, '', {}, 'https://api.telegram.org')
  const retryAfterMs = retry_after === undefined ? RETRY_AFTER_MS : durationOf('retry_after', retry_after)
  return { token, botId: Number(id), baseUrl: href.replace(/\/+$/, ''), retryAfterMs }
}
