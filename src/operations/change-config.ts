/** Changes config.json. Each change reads all settings and writes them again, so only one command at a time may do it. */
import type { Store } from '../storage/store.js'
import { exclusively } from './exclusively.js'

/** `textOf` returns the new text. Durable when it returns. A crash leaves the old file or the new one. */
export async function changeConfig(store: Store, command: string, textOf: () => string): Promise<void> {
  const work = { pool: 'config', what: 'changing the settings', command }
  await exclusively(store, work, () => store.writeConfig(textOf()))
}
