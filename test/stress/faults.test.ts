/** Runs a sample of `npm run stress:faults`, and shows that the lab catches a broken program. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { nestedOf } from '../../stress/faults/nested.js'
import { failOutput } from '../../stress/faults/printed.js'
import { descriptors } from '../../stress/faults/real.js'
import { describeViolation } from '../../stress/faults/report.js'
import { sweep } from '../../stress/faults/sweep.js'
import { sweepTaken } from '../../stress/faults/taken.js'
import { MachineLab } from '../../stress/machine/lab.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import type { Scenario } from '../../stress/scenarios/scenario.js'
import { Lab, repository } from '../../stress/support/lab.js'

test('commands keep the contract if any of their steps fails once or permanently', async () => {
  const lab = MachineLab.open()
  try {
    const empty = lab.image()
    for (const name of ['send', 'send-wait', 'spawn-child', 'recover-tools-4', 'rebuild-log-gone']) {
      const { cases, violations } = await sweep(lab, empty, scenarioOf(name), { every: 53, isRotated: false })
      expect(violations.map((violation) => describeViolation(violation))).toEqual([])
      expect(cases).toBeGreaterThan(5)
    }
  } finally {
    lab.close()
  }
})

test('a command of few steps is killed once, and its recovery keeps the contract with a fault at each step', async () => {
  const lab = MachineLab.open()
  try {
    const empty = lab.image()
    const [nested, ...more] = await nestedOf(lab, empty, scenarioOf('send-await'), 20)
    expect(more).toEqual([])
    const { cases, violations } = await sweep(lab, empty, nested as Scenario, { every: 5, isRotated: true })
    expect(violations.map((violation) => describeViolation(violation))).toEqual([])
    expect(cases).toBeGreaterThan(2)
  } finally {
    lab.close()
  }
})

test('a real process with few file descriptors keeps the contract', async () => {
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

test('failing writes to stdout or stderr end no turn, and exit 11 with one line', async () => {
  const lab = Lab.open()
  try {
    lab.runInProcess()
    const { cases, broken, skipped } = await failOutput(lab, 45, ['send', 'log', '--version', 'help'])
    expect(broken).toEqual([])
    if (skipped === undefined) expect(cases).toBeGreaterThan(2)
  } finally {
    lab.close()
  }
})

test('removing, moving or replacing files in use never allows two writers or loses data', async () => {
  const lab = MachineLab.open()
  try {
    const { cases, violations } = await sweepTaken(lab, 47)
    expect(violations.map((violation) => describeViolation(violation))).toEqual([])
    expect(cases).toBeGreaterThan(20)
  } finally {
    lab.close()
  }
})

test('the lab catches a program that ignores a failed fsync', () => {
  const canary = ['--canary', 'a batch whose fsync failed counts as written']
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
