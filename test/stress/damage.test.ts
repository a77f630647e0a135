/** A sample of `npm run stress:damage`, on each run of the tests; and that it would tell. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { damagesOf } from '../../stress/damage/damages.js'
import { makeHome } from '../../stress/damage/home.js'
import { describeViolations } from '../../stress/damage/report.js'
import { Trials } from '../../stress/damage/trial.js'
import { MachineLab } from '../../stress/machine/lab.js'
import { repository } from '../../stress/support/lab.js'

/** Prime, so that it meets each kind of damage, and all of what is not about single bytes. */
const STRIDE = 2999

test('a damaged home answers as before, or says what is damaged', async () => {
  const lab = MachineLab.open()
  try {
    const home = await makeHome(lab)
    const trials = await Trials.open(lab, home)
    let index = 0
    let count = 0
    for (const damage of damagesOf(home, { allBits: false })) {
      index += 1
      if (index % STRIDE !== 0 && damage.range !== undefined) continue
      count += 1
      await trials.run(damage, index)
    }
    expect(describeViolations(trials.violations)).toEqual([])
    expect(count).toBeGreaterThan(50)
  } finally {
    lab.close()
  }
})

test('a program that looks at no checksum is caught', () => {
  const canary = ['--canary', 'checksums are not looked at']
  const { stdout, status } = spawnSync(
    process.execPath,
    ['stress/run.mjs', 'damage', '--every', '801', ...canary],
    { cwd: repository, encoding: 'utf8' },
  )
  expect({ isCaught: stdout.includes(`caught: ${canary[1]}`), status }).toEqual({ isCaught: true, status: 0 })
})
