/** Reads and checks the options. No message has the token. */
import type { ChannelSettings } from 'substrat/channel'
import { baseUrlOf } from '../../shared/src/model/settings.js'

export const OPTIONS = {
  token: 'the token of the bot, from @BotFather',
  base_url: 'URL of the Bot API (https://api.telegram.org)',
} satisfies Record<string, string>

export interface BotSettings {
  token: string
  /** The first part of the token. */
  botId: number
  /** Without a slash at its end. */
  baseUrl: string
}

export function readSettings({ options }: ChannelSettings): BotSettings {
  const { token, base_url } = options
  if (token === undefined) throw new Error('the option token is missing')
  const [, id] = /^(\d+):[\w-]+$/.exec(token) ?? []
  if (id === undefined)
    throw new Error('the option token is not the token of a bot: digits, a colon, then letters and digits')
  const { href } = baseUrlOf(base_url, '', {}, 'https://api.telegram.org')
  return { token, botId: Number(id), baseUrl: href.replace(/\/+$/, '') }
}
