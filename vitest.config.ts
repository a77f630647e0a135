import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for processes that they started: one worker more than there are cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    // No test depends on speed: only what hangs meets these.
    testTimeout: 15 * 60_000,
    hookTimeout: 15 * 60_000,
    teardownTimeout: 60_000,
    // The commands that run without a process use a module loader that Node 20 calls experimental.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: {
      // The tests start the CLI as its users do. Under vitest's NODE_ENV=test oclif behaves differently.
      NODE_ENV: 'production',
      // Reading extra certificates costs Node 20 some 35 ms at every start.
      NODE_EXTRA_CA_CERTS: '',
    },
  },
})
