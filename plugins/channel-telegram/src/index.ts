/** `telegram`: a bot of Telegram. Each chat, and each topic of a forum, is a thread. */
import type { Channel } from 'substrat/channel'
import { connect } from './connection.js'
import { OPTIONS, readSettings } from './settings.js'

const channel: Channel = {
  description: 'a bot of Telegram, in private chats and in groups',
  options: OPTIONS,
  secrets: ['token'],
  textCharactersMax: 4096,
  mayShowTwice: true,
  check: (settings) => void readSettings(settings),
  open: async (settings) => connect(readSettings(settings)),
}

export default channel
