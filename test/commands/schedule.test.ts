/** `schedule`: its commands, and schedules that follow an agent or do not. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { House } from '../support/cli.js'
import { IN_POSTGRES } from '../support/postgres-homes.js'
import { tempDirectory } from '../support/temp.js'

const DAILY = ['0 7 * * *', 'Report.', '--name', 'daily']

async function houseWithDaily(): Promise<{ house: House; id: string }> {
  const house = new House()
  const id = await house.spawn('report')
  await house.ok('schedule', 'add', 'report', ...DAILY)
  return { house, id }
}

const schedulesIn = async (house: House, ...agent: string[]): Promise<object[]> =>
  (await house.ok('schedule', 'list', ...agent, '--json')).json.schedules

describe.concurrent('schedule', () => {
  test('add changes nothing when it is repeated, with a name or without one', async () => {
    const { house } = await houseWithDaily()
    const repeated = (await house.ok('schedule', 'add', 'report', ...DAILY, '--json')).json
    expect(repeated).toMatchObject({ changed: false, replaced: null })
    for (const name of ['1', '1', '2']) {
      const message = name === '2' ? 'other' : 'same'
      const { json } = await house.ok('schedule', 'add', 'report', 'every 1h', message, '--json')
      expect(json.schedule.name).toBe(name)
    }
    expect(await schedulesIn(house)).toHaveLength(3)
  })

  test('add replaces the schedule of that name under a new id', async () => {
    const { house } = await houseWithDaily()
    const [before] = (await schedulesIn(house)) as { schedule_id: string }[]
    const { json } = await house.ok('schedule', 'add', 'report', ...DAILY, '--overlap', 'queue', '--json')
    expect(json).toMatchObject({ changed: true, replaced: before?.schedule_id })
    expect(await schedulesIn(house)).toMatchObject([
      { overlap: 'queue', schedule_id: json.schedule.schedule_id },
    ])
  })

  test('add takes the message from stdin, and refuses one over the limit', async () => {
    const house = new House()
    await house.spawn('a')
    const long = 'x'.repeat(100_000)
    const add = ['schedule', 'add', 'a', 'every 1h', '-']
    expect((await house.run(add, { stdin: long })).exit).toBe(0)
    expect(await schedulesIn(house)).toMatchObject([{ content: long }])
    const refused = await house.run(add, { stdin: 'x'.repeat(limits.messageBytesMax + 1) })
    expect([refused.exit, refused.stderr]).toEqual([
      2,
      expect.stringContaining('put it in a file in the workspace'),
    ])
  })

  test('show says how a schedule goes on, and when its clock was ahead', async () => {
    const { house } = await houseWithDaily()
    const { stdout, stderr } = await house.ok('schedule', 'show', 'report', 'daily')
    expect(stdout).toContain('0 7 * * *, in UTC')
    expect(stdout.match(/ 07:00:00Z/g)).toHaveLength(5)
    expect(stderr).toBe('')
    expect((await house.ok('show', 'report')).stdout).toMatch(/^schedules +daily \(0 7 \* \* \*\): next /m)
  })

  test('pause, resume and remove change a schedule once', async () => {
    const { house } = await houseWithDaily()
    for (const [verb, changed] of [
      ['pause', true],
      ['pause', false],
      ['resume', true],
      ['resume', false],
      ['remove', true],
    ] as const)
      expect((await house.ok('schedule', verb, 'report', 'daily', '--json')).json).toMatchObject({ changed })
    expect(await schedulesIn(house)).toEqual([])
    expect((await house.run(['schedule', 'remove', 'report', 'daily'])).exit).toBe(2)
  })

  test('run-now runs the message, and changes no slot', async () => {
    const { house, id } = await houseWithDaily()
    const before = await schedulesIn(house)
    const { stdout } = await house.ok('schedule', 'run-now', 'report', 'daily')
    expect(stdout).toMatch(/^echo: \[schedule daily, .*\]\nReport\.$/m)
    expect(await schedulesIn(house)).toEqual(before)
    expect(house.records(id).filter(({ kind }) => kind === 'schedule.ran_now')).toHaveLength(1)
  })

  test('an agent has at most 100 schedules', async () => {
    const house = new House()
    await house.spawn('a')
    const add = (n: number) => house.run(['schedule', 'add', 'a', 'every 1h', `go ${n}`])
    for (let n = 0; n < limits.schedulesMax; n++) expect((await add(n)).exit).toBe(0)
    const { exit, stderr } = await add(limits.schedulesMax)
    expect([exit, stderr]).toEqual([13, expect.stringContaining('substrat schedule remove a 1')])
    // It repeats one that is there.
    expect((await add(0)).exit).toBe(0)
  })

  test('a fork and a copy of an agent have no schedules', async () => {
    const { house } = await houseWithDaily()
    await house.ok('send', 'report', 'hello')
    await house.ok('fork', 'report', '--name', 'forked')
    await house.ok('export', 'report', '--bundle', 'a.bundle')
    await house.ok('import', '--trust', 'a.bundle', '--name', 'copied')
    expect(await schedulesIn(house)).toMatchObject([{ path: 'report' }])
  })

  test.skipIf(IN_POSTGRES)(
    'an agent that moves takes its schedules along, marked for the next tick',
    async () => {
      const { house, id } = await houseWithDaily()
      const file = join(tempDirectory(), 'report.bundle')
      await house.ok('export', 'report', '--bundle', file, '--move')
      expect(await schedulesIn(house)).toEqual([])
      const there = new House()
      await there.ok('import', '--trust', file)
      expect(await schedulesIn(there)).toMatchObject([{ name: 'daily', agent: id, state: 'active' }])
      expect(readdirSync(join(there.home, 'unclean'))).toEqual([id])
    },
  )
})

describe('schedule, one test after the other', () => {
  test('add changes nothing when it is repeated with a duration for --until', async () => {
    const { house } = await houseWithDaily()
    const add = ['schedule', 'add', 'report', 'every 1h', 'hi', '--json', '--until']
    const changes = [(await house.ok(...add, '3h')).json.changed, (await house.ok(...add, '3h')).json.changed]
    expect(changes).toEqual([true, false])
    expect((await house.ok(...add, '9h')).json.changed).toBe(true)
  })

  test('a refused name has a free one in the hint, with each flag of the command', async () => {
    const { house } = await houseWithDaily()
    const more = ['--missed', 'all', '--overlap', 'queue', '--jitter', '5m', '--until', '9h', '--tz', 'UTC']
    await house.ok('schedule', 'add', 'report', 'every 1h', 'hi', '--name', 'my-job')
    const { stderr } = await house.run([
      'schedule',
      'add',
      'report',
      'every 1h',
      'hi',
      '--name',
      'my job',
      ...more,
    ])
    expect(stderr).toContain(
      "substrat schedule add report 'every 1h' hi --name my-job-2 --tz UTC --missed all --overlap queue --until 32400s --jitter 300s",
    )
    const long = await house.run(['schedule', 'add', 'report', 'every 61m', '-'], { stdin: 'x\ny' })
    expect(long.stderr).toContain("substrat schedule add report 'every 1h' - < message.txt")
  })

  test('a schedule that replaces a paused one is paused', async () => {
    const { house } = await houseWithDaily()
    await house.ok('schedule', 'pause', 'report', 'daily')
    await house.ok('schedule', 'add', 'report', '0 8 * * *', 'Report.', '--name', 'daily')
    expect(await schedulesIn(house)).toMatchObject([{ when: '0 8 * * *', state: 'paused' }])
  })

  test('the schedules of a terminated agent cannot be changed', async () => {
    const { house, id } = await houseWithDaily()
    await house.ok('terminate', 'report')
    for (const verb of ['pause', 'resume', 'remove']) {
      const { exit, stderr } = await house.run(['schedule', verb, id, 'daily'])
      expect([exit, stderr]).toEqual([13, expect.stringContaining('its schedules ended with it')])
    }
  })
})
