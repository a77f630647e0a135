/** `email`: a mailbox. Messages come over IMAP, and replies leave over SMTP. Each conversation by mail is a thread. */
import type { Channel } from 'substrat/channel'
import { connect } from './connection.js'
import { OPTIONS, readSettings } from './settings.js'

const channel: Channel = {
  description: 'a mailbox, read over IMAP and answered over SMTP',
  options: OPTIONS,
  secrets: ['password', 'smtp_password'],
  textCharactersMax: 50_000,
  check: (settings) => void readSettings(settings),
  open: async (settings) => connect(readSettings(settings)),
}

export default channel
