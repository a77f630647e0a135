/** A sample of `npm run stress:damage`, on each run of the tests; and that it would tell. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { sample } from '../../stress/damage/sample.js'
import { repository } from '../../stress/support/lab.js'

/** Prime, so that it meets each kind of damage, and all of what is not about single bytes. */
const STRIDE = 5003

test('a damaged home answers as before, or says what is damaged', async () => {
  // Each run has another home and another sample. What fails says its seed, and how to run it again.
  const seed = Math.floor(Math.random() * 1_000_000)
  const { violations, count } = await sample(seed, STRIDE)
  expect(violations, `seed ${seed}`).toEqual([])
  expect(count).toBeGreaterThan(40)
})

test('a program that looks at no checksum is caught', () => {
  const canary = ['--canary', 'a wrong checksum is passed over']
  const { stdout, status } = spawnSync(
    process.execPath,
    ['stress/run.mjs', 'damage', '--every', '801', ...canary],
    { cwd: repository, encoding: 'utf8' },
  )
  expect({ isCaught: stdout.includes(`caught: ${canary[1]}`), status }).toEqual({ isCaught: true, status: 0 })
})
