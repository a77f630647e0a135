/** A sample of `npm run stress:kill -- --postgres`, which kills each command at each of its calls of the database. */
import { afterEach, describe, expect, test } from 'vitest'
import { InPostgres } from '../../stress/kill/in-postgres.js'
import { describeViolation } from '../../stress/kill/report.js'
import { sweep } from '../../stress/kill/sweep.js'
import type { ScenarioReport, SweepOptions } from '../../stress/kill/swept.js'
import { brokenSources } from '../../stress/mutants/canaries.js'
import type { Sources } from '../../stress/mutants/code.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import { Databases } from '../../stress/support/databases.js'
import { Lab } from '../../stress/support/lab.js'
import { whyNoPostgres } from '../support/postgres.js'

let lab: Lab | undefined
let databases: Databases | undefined

describe.skipIf(whyNoPostgres() !== undefined)('commands killed at their calls of the database', () => {
  afterEach(() => {
    databases?.close()
    lab?.close()
    databases = undefined
    lab = undefined
  })

  test('keep the contract', async () => {
    const report = await sweepOf('send-mail', { every: 31, nestedEvery: 0 })
    expect(report.killed).toBeGreaterThan(1)
    expect(report.violations.map(describeViolation)).toEqual([])
  })

  test('a program that forgets keys is caught', async () => {
    const name = 'a message with a key is delivered without looking up the key'
    const options = { every: 1, syscalls: ['unanswered'], nestedEvery: 0, stops: true }
    const { violations } = await sweepOf('send-key', options, brokenSources({ name }))
    expect(violations).not.toEqual([])
  })
})

async function sweepOf(
  name: string,
  options: Omit<SweepOptions, 'jobs'>,
  sources?: Sources,
): Promise<ScenarioReport> {
  lab = Lab.open(sources)
  databases = new Databases(lab)
  return sweep(new InPostgres(lab, databases), scenarioOf(name), { jobs: 2, ...options })
}
