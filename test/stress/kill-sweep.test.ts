import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { InFiles } from '../../stress/kill/ground.js'
import { describeViolation } from '../../stress/kill/report.js'
import { whyNoStrace } from '../../stress/kill/strace.js'
import { sweep } from '../../stress/kill/sweep.js'
import type { ScenarioReport, SweepOptions } from '../../stress/kill/swept.js'
import { brokenSources } from '../../stress/mutants/canaries.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import type { Scenario } from '../../stress/scenarios/scenario.js'
import { Lab } from '../../stress/support/lab.js'

const why = whyNoStrace()
if (why !== undefined) console.log(`skipped: the kill sweep (${why})`)
const unless = why === undefined ? '' : ` (skipped: ${why})`

let lab: Lab

// A sample of `npm run stress:kill`, which sweeps every command and every system call.
describe.skipIf(why !== undefined)(`commands killed before their system calls${unless}`, () => {
  beforeAll(() => {
    lab = Lab.open()
  })
  afterAll(() => lab.close())

  test.each([
    ['spawn-child-prompt', 24],
    ['send-mail-wait', 70],
    ['resume-approve', 20],
    ['recover', 90],
  ])('%s keeps the contract', async (name, every) => {
    const report = await sweepOf(name, { every, nestedEvery: 0, jobs: 2 })
    expect(report.killed).toBeGreaterThan(1)
    expect(report.violations.map(describeViolation)).toEqual([])
  })

  test('a scenario that cannot be prepared ends the server that it has started', async () => {
    const server = createServer()
    const scenario: Scenario = {
      ...scenarioOf('spawn'),
      async prepare(stage) {
        await once(server.listen(0, '127.0.0.1'), 'listening')
        stage.atEnd(() => server.close())
        throw new Error('this scenario cannot be prepared')
      },
    }
    await expect(sweep(new InFiles(lab), scenario, { every: 1, nestedEvery: 0, jobs: 1 })).rejects.toThrow(
      'cannot be prepared',
    )
    expect(server.listening).toBe(false)
  })

  test('an interrupted recovery keeps the contract', async () => {
    const report = await sweepOf('send-key', {
      every: 1,
      nestedEvery: 1,
      jobs: 2,
      point: { syscall: 'fdatasync', n: 1 },
      nestedSyscalls: ['fdatasync', 'rename'],
    })
    expect(report.nestedKilled).toBeGreaterThan(1)
    expect(report.violations.map(describeViolation)).toEqual([])
  })
})

describe.skipIf(why !== undefined)(`the sweep catches a broken program${unless}`, () => {
  afterEach(() => lab.close())

  test.each([
    ['spawn prints the UUID before the agent is on disk', 'spawn', 'fsync'],
    ['a reply is printed before its record is written', 'send', 'pwrite64'],
    ['a message with a key is delivered without looking up the key', 'send-key', 'rename'],
    ['a truncated tail is not removed', 'recover', 'kill'],
  ])('%s', async (name, scenario, syscall) => {
    lab = Lab.open(brokenSources({ name }))
    const options = { every: 1, syscalls: [syscall], nestedEvery: 0, jobs: 2, stops: true }
    const { violations } = await sweepOf(scenario, options)
    expect(violations).not.toEqual([])
  })
})

async function sweepOf(name: string, options: SweepOptions): Promise<ScenarioReport> {
  lab.runInProcess()
  return sweep(new InFiles(lab), scenarioOf(name), options)
}
