import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { choicesOf } from '../../stress/powercut/choices.js'
import { Desk } from '../../stress/powercut/desk.js'
import { Disk, type DiskStep } from '../../stress/powercut/disk.js'
import { violationWithout } from '../../stress/powercut/drops.js'
import { record } from '../../stress/powercut/record.js'
import { describeViolation } from '../../stress/powercut/report.js'
import { type SurveyReport, survey } from '../../stress/powercut/survey.js'
import { type Told, Trace } from '../../stress/powercut/trace.js'
import { scenarioOf } from '../../stress/scenarios/all.js'
import { Random } from '../support/random.js'
import { tempDirectory } from '../support/temp.js'

let desk: Desk | undefined

afterEach(() => {
  desk?.close()
  desk = undefined
})

// A sample of `npm run stress:powercut`, which goes through every command and every state.
describe('after a power cut', () => {
  test('spawn keeps the contract in a home without agents', async () => {
    const report = await sampled('spawn-first', { every: 53, nestedEvery: 0 })
    expect(report.states).toBeGreaterThan(20)
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
  })

  test('send keeps the contract, even after a second power cut during recovery', async () => {
    const report = await sampled('send-after-kill', { every: 20, nestedEvery: 8 })
    expect(report.states).toBeGreaterThan(10)
    expect(report.nestedStates).toBeGreaterThan(0)
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
  })

  test('a turn with reasoning gives it back to the model', async () => {
    const report = await sampled('send-tool-reasoning', { every: 41, nestedEvery: 0 })
    expect(report.states).toBeGreaterThan(10)
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
  })

  test('two agents whose records were written side by side keep the contract', async () => {
    desk = Desk.open()
    const scenario = scenarioOf('deliver-beside')
    const { trace } = await record(desk, scenario)
    const disk = new Disk()
    const unsynced = trace.steps.map(({ step }) => {
      disk.apply(step)
      return new Set(
        disk.pending.map(({ what }) => what).filter((what) => /^write .*events\.jsonl$/.test(what)),
      ).size
    })
    expect(Math.max(...unsynced.slice(trace.preparedSteps))).toBe(2)
    const report = await survey(desk, scenario, {
      seed: 1,
      sample: 0,
      every: 20,
      nestedEvery: 0,
      nestedSample: 1,
    })
    expect(report.violations.map((violation) => describeViolation(violation, 1))).toEqual([])
    expect(report.states).toBeGreaterThan(20)
    const { found } = await violationWithout(desk, scenario, 'log.sync', { seed: 1, every: 1 })
    expect(found?.broken).toBeDefined()
  })

  test.each(['log.sync', 'spawn.sync_agents'])('the lab catches a program without %s', async (point) => {
    desk = Desk.open()
    const { found } = await violationWithout(desk, scenarioOf('spawn-prompt'), point, { seed: 1, every: 1 })
    expect(found?.broken).toBeDefined()
  })
})

describe('after a power cut the disk may hold', () => {
  test('nothing of an unsynced append, a part of it, NUL for missing bytes, or all of it', () => {
    const appended = [...base, { ...step('write', 'log'), offset: 2, bytes: Buffer.from('abcd') }]
    expect(contents(appended, 'log')).toEqual(
      ['1\n', '1\nab', '1\nab\0\0', '1\nabcd', '1\n\0\0\0\0', '1\n\0\0cd'].sort(),
    )
    expect(contents([...appended, sync('log')], 'log')).toEqual(['1\nabcd'])
  })

  test('the old or the new version of a replaced file, or an empty file if it was not synced', () => {
    const write = [step('make', 'temp'), { ...step('write', 'temp'), bytes: Buffer.from('2\n') }]
    const rename = { ...step('rename', 'temp'), to: 'log' }
    expect(contents([...base, ...write, sync('temp'), rename], 'log')).toEqual(['1\n', '2\n'])
    expect(contents([...base, ...write, sync('temp'), rename, sync('')], 'log')).toEqual(['2\n'])
    expect(contents([...base, ...write, rename, sync('')], 'log')).toContain('')
  })

  test('an unlinked file, until its directory is synced', () => {
    const unlinked = [...base, step('unlink', 'log')]
    expect(contents(unlinked, 'log')).toEqual(['(none)', '1\n'])
    expect(contents([...unlinked, sync('')], 'log')).toEqual(['(none)'])
  })

  test('a change without a disk step is reported', () => {
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

/** The possible contents of the file after these steps. */
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
