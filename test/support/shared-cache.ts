/**
 * One directory for V8's compiled code of the CLI, shared by the commands of all test files. With a directory for each file, the
 * first command of each would compile the bundle again, which takes a sixth of the CPU time of all tests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from './temp-directory.js'

/** Where a worker process finds the directory. It is private (0700), because the CLI refuses code that another user could write. */
export const SHARED_CACHE = 'SUBSTRAT_TEST_CACHE'

export default function setUp(): (() => void) | undefined {
  if (process.env[SHARED_CACHE] !== undefined) return
  const directory = mkdtempSync(path.join(temporaryDirectory(), 'substrat-cache-'))
  process.env[SHARED_CACHE] = directory
  return () => rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
}
