/** Temporary directories and homes, removed when the test is over. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { FileStore } from '../../src/storage/file-store.js'
import { IN_POSTGRES, newHomeInPostgres, storeAt } from './postgres-homes.js'

export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'substrat-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** With SUBSTRAT_TEST_HOMES, a home in PostgreSQL. */
export function tempStore(): FileStore {
  if (IN_POSTGRES) return storeAt(newHomeInPostgres()) as FileStore
  return FileStore.openForWrite(join(tempDirectory(), 'home'))
}
