/** Temporary directories and homes, removed when the test is over. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { FileStore } from '../../src/storage/file-store.js'

export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'substrat-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export function tempStore(): FileStore {
  return FileStore.openForWrite(join(tempDirectory(), 'home'))
}
