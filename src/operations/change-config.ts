/** Changes config.json. Each change reads all settings and writes them again, so only one command at a time may do it. */
import { clock, sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { Store } from '../storage/store.js'

const POOL = 'config'
const WAIT_MS_MAX = 10_000

/** `textOf` returns the new text. Durable when it returns. A crash leaves the old file or the new one. */
export async function changeConfig(store: Store, command: string, textOf: () => string): Promise<void> {
  const start = clock.monotonic()
  let right = await store.takeSlot(POOL, 1, command)
  while (right === undefined) {
    if (clock.monotonic() - start >= WAIT_MS_MAX) throw busyError()
    await sleep(5)
    right = await store.takeSlot(POOL, 1, command)
  }
  try {
    store.writeConfig(textOf())
  } finally {
    right.release()
  }
}

function busyError(): SubstratError {
  return new SubstratError('LOCKED', 'another command is changing the settings', {
    hint: 'run the same command again later',
  })
}
