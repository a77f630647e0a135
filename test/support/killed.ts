/** Work that dies at its n-th step on the disk, and the home that it leaves, as another process finds it. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import { FileStore } from '../../src/storage/store.js'
import { withFaults } from './faults.js'
import { tempDirectory } from './temp.js'

/** With new files, so that no lock of this process is held in it. */
export function copyOf(store: FileStore): FileStore {
  const root = join(tempDirectory(), 'home')
  cpSync(store.root, root, { recursive: true, preserveTimestamps: true })
  return FileStore.openForWrite(root)
}

/** Whether it came as far as its n-th step, of those that count; nothing of it happens after. */
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
    // As a step of a disk that is gone: work that runs beside knows what to do with that.
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
