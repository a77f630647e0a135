/** Work that only one command at a time may do. */
import { clock, sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import type { Store } from '../storage/store.js'

const WAIT_MS_MAX = 10_000

/** `what` ends the sentence `another command is …`. Throws LOCKED. The death of a process ends its right. */
export async function exclusively<T>(
  store: Store,
  { pool, what, command }: { pool: string; what: string; command: string },
  act: () => T,
): Promise<T> {
  const start = clock.monotonic()
  let right = await store.takeSlot(pool, 1, command)
  while (right === undefined) {
    if (clock.monotonic() - start >= WAIT_MS_MAX)
      throw new SubstratError('LOCKED', `another command is ${what}`, {
        hint: 'run the same command again later',
      })
    await sleep(5)
    right = await store.takeSlot(pool, 1, command)
  }
  try {
    return act()
  } finally {
    await right.release()
  }
}
