/** The messages to the operator. */
import { call } from '../api/client.js'
import type { Mail } from '../api/types.js'
import { Store } from './store.js'

export const mail = new Store<readonly Mail[]>([])

export async function readMail(): Promise<void> {
  try {
    mail.set((await call('listMail', { agent: 'operator' })).messages)
  } catch {
    // The connection sign shows it.
  }
}
