/**
 * Set-up for test files that share a worker process, because a process for each would cost a third of a second of CPU.
 * Each file starts fresh: no module is loaded, no mock and no timer of an earlier file is left, and environment, directory and umask
 * have their initial values.
 */
import { afterAll, vi } from 'vitest'

const { umask, env } = { umask: process.umask(), env: { ...process.env } }
const directory = process.cwd()

vi.resetModules()

afterAll(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(directory)
  process.umask(umask)
})
