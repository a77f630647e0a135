/** The messages to the operator. */
import { call } from '../api/client.js'
import type { Mail } from '../api/types.js'
import { Store } from './store.js'

/** The server takes so many with one request. */
const AT_ONCE = 1000

export const mail = new Store<readonly Mail[]>([])

/** Also a message that another window has taken meanwhile is gone then. */
export async function takeMail(ids: string[]): Promise<void> {
  try {
    for (let from = 0; from < ids.length; from += AT_ONCE)
      await call('takeMail', { agent: 'operator', body: { messages: ids.slice(from, from + AT_ONCE) } })
  } finally {
    await readMail().catch(() => undefined)
  }
}

let readings = 0

/** An answer that comes after that of a later reading is older, and is ignored. */
export async function readMail(): Promise<void> {
  readings += 1
  const reading = readings
  const { messages } = await call('listMail', { agent: 'operator' })
  if (reading === readings) mail.set(messages)
}
