import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for processes that they started: one worker more than there are cores keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    env: {
      // The tests start the CLI as its users do. Under vitest's NODE_ENV=test oclif behaves differently.
      NODE_ENV: 'production',
      // Reading extra certificates costs Node 20 some 35 ms at every start.
      NODE_EXTRA_CA_CERTS: '',
    },
  },
})
