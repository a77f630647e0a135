/** Work that is killed at its n-th disk step, and the home that it leaves, as another process finds it. */
import { join } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import { FileStore } from '../../src/storage/file-store.js'
import { copyTree } from './copy-tree.js'
import { withFaults } from './faults.js'
import { tempDirectory } from './temp.js'

/** Copies the files, so that this process holds no lock in the copy. */
export function copyOf(store: FileStore): FileStore {
  const root = join(tempDirectory(), 'home')
  copyTree(store.address, root)
  return FileStore.openForWrite(root)
}

/** Returns whether the work reached its n-th counted step. No later step takes effect. */
export async function killedAt(
  n: number,
  work: () => Promise<unknown>,
  counts: (operation: Operation) => boolean = () => true,
): Promise<boolean> {
  let left = n
  let died = false
  withFaults((operation) => {
    if (!died && !counts(operation)) return undefined
    left -= 1
    if (left > 0) return undefined
    died = true
    // Fails like a step on a lost disk, which concurrent work can handle.
    throw Object.assign(new Error('killed'), { code: 'EIO' })
  })
  try {
    await work()
  } catch (error) {
    if (!died) throw error
  } finally {
    withFaults(() => undefined)
  }
  return died
}
