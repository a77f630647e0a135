/** Runs a sample of `npm run stress:damage`, and shows that the lab catches a broken program. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { sample } from '../../stress/damage/sample.js'
import { repository } from '../../stress/support/lab.js'

/** A prime, so that the sample meets each kind of damage. Damage that is not about single bytes always runs in full. */
const STRIDE = 5003

test('commands on a damaged home answer as before, or report the damage', async () => {
  // Each run damages another home in other places. A failure prints its seed and the command that repeats it.
  const seed = Math.floor(Math.random() * 1_000_000)
  const { violations, count } = await sample(seed, STRIDE)
  expect(violations, `seed ${seed}`).toEqual([])
  expect(count).toBeGreaterThan(40)
})

test('the lab catches a program that checks no checksum', () => {
  const canary = ['--canary', 'a wrong checksum is ignored']
  const { stdout, status } = spawnSync(
    process.execPath,
    ['stress/run.mjs', 'damage', '--every', '801', ...canary],
    { cwd: repository, encoding: 'utf8' },
  )
  expect({ isCaught: stdout.includes(`caught: ${canary[1]}`), status }).toEqual({ isCaught: true, status: 0 })
})
