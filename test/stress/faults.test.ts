/** A sample of `npm run stress:faults`, on each run of the tests; and that it would tell. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { printed } from '../../stress/faults/printed.js'
import { descriptors } from '../../stress/faults/real.js'
import { describeViolation } from '../../stress/faults/report.js'
import { sweep } from '../../stress/faults/sweep.js'
import { sweepTaken } from '../../stress/faults/taken.js'
import { MachineLab } from '../../stress/machine/lab.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import { Lab, repository } from '../../stress/support/lab.js'

test('commands keep the contract whichever of their steps fails, once or from then on', async () => {
  const lab = MachineLab.open()
  try {
    const empty = lab.image()
    for (const name of ['send', 'send-wait', 'spawn-child', 'recover-tools-4', 'rebuild-log-gone']) {
      const { cases, violations } = await sweep(lab, empty, scenarioOf(name), { every: 53, isRotated: false })
      expect(violations.map((violation) => describeViolation(violation))).toEqual([])
      expect(cases).toBeGreaterThan(8)
    }
  } finally {
    lab.close()
  }
})

test('a real process with hardly any descriptors keeps it', async () => {
  const lab = Lab.open()
  try {
    lab.runInProcess()
    const { cases, broken } = await descriptors(lab, [19, 21])
    expect(broken).toEqual([])
    expect(cases).toBe(2)
  } finally {
    lab.close()
  }
})

test('a stdout or stderr whose writes fail ends no turn, and is exit 11 on one line', async () => {
  const lab = Lab.open()
  try {
    lab.runInProcess()
    const { cases, broken, skipped } = await printed(lab, 45, ['send', 'log', '--version', 'help'])
    expect(broken).toEqual([])
    if (skipped === undefined) expect(cases).toBeGreaterThan(2)
  } finally {
    lab.close()
  }
})

test('files of a home that are removed, moved or replaced in use give no two writers, and lose nothing', async () => {
  const lab = MachineLab.open()
  try {
    const { cases, violations } = await sweepTaken(lab, 47)
    expect(violations.map((violation) => describeViolation(violation))).toEqual([])
    expect(cases).toBeGreaterThan(20)
  } finally {
    lab.close()
  }
})

test('a program that passes over a failed sync is caught', () => {
  const canary = ['--canary', 'a failed sync is a batch all the same']
  const only = ['--only', 'machine', '--scenarios', 'send', '--point', 'log.sync', '--fault', 'EIO once']
  const { stdout, status } = spawnSync(process.execPath, ['stress/run.mjs', 'faults', ...only, ...canary], {
    cwd: repository,
    encoding: 'utf8',
  })
  expect({ isCaught: stdout.includes(`\ncaught: ${canary[1]}`), status }).toEqual({
    isCaught: true,
    status: 0,
  })
})
