/** Changes config.json. Each change reads all settings and writes them again, so only one command at a time may do it. */
import { HOME_ACCOUNT, isPlainObject } from '../format.js'
import type { Store } from '../storage/store.js'
import { exclusively } from './exclusively.js'

/** `textOf` returns the new text. Durable when it returns. A crash leaves the old file or the new one. */
export async function changeConfig(store: Store, command: string, textOf: () => string): Promise<void> {
  const work = { pool: 'config', what: 'changing the settings', command }
  await exclusively(store, work, () => {
    const text = textOf()
    const budget = budgetIn(text)
    // While the home had no cap, no request left an entry in its account.
    if (budget !== undefined && budget !== budgetIn(store.readConfig()?.toString('utf8')))
      store.accounts?.open(HOME_ACCOUNT)
    store.writeConfig(text)
  })
}

function budgetIn(text = '{}'): unknown {
  try {
    const config: unknown = JSON.parse(text)
    return isPlainObject(config) ? config.budget : undefined
  } catch {
    return undefined
  }
}
