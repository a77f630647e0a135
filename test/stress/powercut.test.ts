import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { choicesOf } from '../../stress/powercut/choices.js'
import { Desk } from '../../stress/powercut/desk.js'
import { Disk, type DiskStep } from '../../stress/powercut/disk.js'
import { violationWithout } from '../../stress/powercut/drops.js'
import { describeViolation } from '../../stress/powercut/report.js'
import { type SurveyReport, survey } from '../../stress/powercut/survey.js'
import { type Told, Trace } from '../../stress/powercut/trace.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import { Random } from '../../stress/tree/random.js'
import { tempDirectory } from '../support/temp.js'

let desk: Desk | undefined

afterEach(() => {
  desk?.close()
  desk = undefined
})

// `npm run stress:powercut` goes through every command and every state; this is a sample of the same, on each run of the tests.
describe('the power is cut under a command', () => {
  test('spawn, the first of its home, keeps the contract', async () => {
    const report = await sampled('spawn-first', { every: 53, nestedEvery: 0 })
    expect(report.states).toBeGreaterThan(20)
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
  })

  test('send keeps the contract, also where the power is cut again in the recovery', async () => {
    const report = await sampled('send-after-kill', { every: 20, nestedEvery: 8 })
    expect(report.states).toBeGreaterThan(10)
    expect(report.nestedStates).toBeGreaterThan(0)
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
  })

  test.each(['log.sync', 'spawn.sync_agents'])('a program without %s is caught', async (point) => {
    desk = Desk.open()
    const { found } = await violationWithout(desk, scenarioOf('spawn-prompt'), point, { seed: 1, every: 1 })
    expect(found?.broken).toBeDefined()
  })
})

describe('what a disk may hold', () => {
  test('an append that is not synced: nothing, a part of it, NUL where bytes are missing, or all', () => {
    const appended = [...base, { ...step('write', 'log'), offset: 2, bytes: Buffer.from('abcd') }]
    expect(contents(appended, 'log')).toEqual(
      ['1\n', '1\nab', '1\nab\0\0', '1\nabcd', '1\n\0\0\0\0', '1\n\0\0cd'].sort(),
    )
    expect(contents([...appended, sync('log')], 'log')).toEqual(['1\nabcd'])
  })

  test('a replaced file: the old one or the new one, and where it was not synced also an empty one', () => {
    const write = [step('make', 'temp'), { ...step('write', 'temp'), bytes: Buffer.from('2\n') }]
    const rename = { ...step('rename', 'temp'), to: 'log' }
    expect(contents([...base, ...write, sync('temp'), rename], 'log')).toEqual(['1\n', '2\n'])
    expect(contents([...base, ...write, sync('temp'), rename, sync('')], 'log')).toEqual(['2\n'])
    expect(contents([...base, ...write, rename, sync('')], 'log')).toContain('')
  })

  test('an unlinked file: until its directory is synced it may come back', () => {
    const unlinked = [...base, step('unlink', 'log')]
    expect(contents(unlinked, 'log')).toEqual(['(none)', '1\n'])
    expect(contents([...unlinked, sync('')], 'log')).toEqual(['(none)'])
  })

  test('a change that no step tells of is found', () => {
    const root = tempDirectory()
    const told: Told = { lab: 'powercut', stdout: '', stderr: '', status: undefined, workspace: new Map() }
    const trace = new Trace(root, () => told)
    writeFileSync(join(root, 'untold'), 'by whom?')
    expect(() => trace.end()).toThrow('changes without a step: untold')
  })
})

function sampled(
  name: string,
  { every, nestedEvery }: { every: number; nestedEvery: number },
): Promise<SurveyReport> {
  desk = Desk.open()
  return survey(desk, scenarioOf(name), { seed: 1, sample: 0, every, nestedEvery, nestedSample: 1 })
}

function step(name: DiskStep['name'], path: string): DiskStep {
  return { point: 'test', name, path }
}

function sync(path: string): DiskStep {
  return step('sync', path)
}

/** A file that is on disk. */
const base: DiskStep[] = [
  step('make', 'log'),
  { ...step('write', 'log'), bytes: Buffer.from('1\n') },
  sync('log'),
  sync(''),
]

/** What the file may hold after these steps. */
function contents(steps: DiskStep[], path: string): string[] {
  const disk = new Disk()
  for (const one of steps) disk.apply(one)
  const found = new Set<string>()
  for (const choice of choicesOf(disk.pending, new Random(1), 0)) {
    const options = new Map(
      disk.pending.map((pending, index) => [pending, pending.options[choice[index] ?? 0]]),
    )
    const image = disk.image((pending) => options.get(pending) ?? 'whole')
    found.add(image.get(path)?.toString('latin1') ?? '(none)')
  }
  return [...found].sort()
}
