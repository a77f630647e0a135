/**
 * One process runs many test files, one after another, for the start of a process costs more than most files. Each finds it
 * as if it were new: modules that nobody has loaded yet, and the environment, directory and umask of the start.
 */
import { afterAll, vi } from 'vitest'

const { umask, env } = { umask: process.umask(), env: { ...process.env } }
const directory = process.cwd()

vi.resetModules()

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(directory)
  process.umask(umask)
})
