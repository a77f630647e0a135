/** Both kinds of store keep every promise of `Store`. */
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { storeCases } from '../../src/storage/conformance/conformance.js'
import { FileStore } from '../../src/storage/file-store.js'
import { MemoryHome } from '../support/memory-store/memory-home.js'
import { MemoryStore } from '../support/memory-store/memory-store.js'
import { tempDirectory } from '../support/temp.js'

describe('a home in files', () => {
  const newHome = () => {
    const address = join(tempDirectory(), 'home')
    return { open: () => FileStore.openForWrite(address) }
  }
  for (const { title, run } of storeCases(newHome)) test(title, run)
})

describe('a home in memory', () => {
  const newHome = () => {
    const address = tempDirectory()
    const home = new MemoryHome()
    return { open: () => new MemoryStore(address, home) }
  }
  for (const { title, run } of storeCases(newHome)) test(title, run)
})
