/** Work that only one command at a time may do. */
import { dirname } from 'node:path'
import { clock, sleep } from '../clock.js'
import { RUN_AGAIN, SubstratError } from '../errors.js'
import { makeDirectories } from '../files/package-files.js'
import { lockFile } from '../storage/open.js'
import type { Store } from '../storage/store.js'

const WAIT_MS_MAX = 10_000
/** Another command may wait for npm. */
const WAIT_FOR_LIST_MS_MAX = 60_000

interface Work {
  /** Ends the sentence `another command is …`. */
  what: string
  command: string
}

/** Throws LOCKED. The death of a process ends its right. */
export function exclusively<T>(
  store: Store,
  { pool, ...work }: Work & { pool: string },
  act: () => T | Promise<T>,
): Promise<T> {
  return withRight(() => store.takeSlot(pool, 1, work.command), work.what, WAIT_MS_MAX, act)
}

/** The same for oclif's list of plugins, which belongs to the user and the machine, not to a home. */
export function exclusivelyInList<T>(listPath: string, work: Work, act: () => T | Promise<T>): Promise<T> {
  return exclusivelyInFile(listPath, work, act, WAIT_FOR_LIST_MS_MAX)
}

/** The same for a file of the user that is not in a home. The lock is beside it. */
export function exclusivelyInFile<T>(
  path: string,
  work: Work,
  act: () => T | Promise<T>,
  waitMsMax = WAIT_MS_MAX,
): Promise<T> {
  makeDirectories(dirname(path))
  return withRight(() => lockFile(`${path}.lock`, work.command), work.what, waitMsMax, act)
}

async function withRight<T>(
  take: () => Promise<{ release(): Promise<void> } | undefined>,
  what: string,
  waitMsMax: number,
  act: () => T | Promise<T>,
): Promise<T> {
  const start = clock.monotonic()
  let right = await take()
  while (right === undefined) {
    if (clock.monotonic() - start >= waitMsMax)
      throw new SubstratError('LOCKED', `another command is ${what}`, {
        hint: `later, ${RUN_AGAIN}`,
      })
    await sleep(5)
    right = await take()
  }
  try {
    return await act()
  } finally {
    await right.release()
  }
}
