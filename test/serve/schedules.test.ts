/** Schedules over HTTP. */
import { expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { Served } from './support.js'

const DAILY = { when: '0 7 * * *', content: '--help\nReport.', name: 'daily', time_zone: 'Europe/Berlin' }

test('a schedule is set once, listed, shown, run, paused and removed', async () => {
  const house = new House()
  const id = await house.spawn('lead')
  await house.spawn('tests', '--parent', 'lead')
  const served = await Served.start(house)
  const path = { agent: 'lead/tests' }
  const added = await served.call('addSchedule', { path, body: DAILY })
  expect(added).toMatchObject({ status: 200, data: { changed: true, schedule: { path: 'lead/tests' } } })
  expect(await served.call('addSchedule', { path, body: DAILY })).toMatchObject({ data: { changed: false } })
  const all = await served.call('listSchedules', { query: {} })
  expect(all).toMatchObject({ data: { schedules: [{ name: 'daily', content: DAILY.content }] } })
  expect(await served.call('listSchedules', { query: { agent: id } })).toMatchObject({
    data: { schedules: [] },
  })
  const shown = await served.call('showSchedule', { path, query: { schedule: 'daily' } })
  expect((shown.data as { upcoming: string[] }).upcoming).toHaveLength(5)
  const ran = await served.call('runSchedule', {
    ...{ path, body: { schedule: 'daily' }, headers: { prefer: 'wait' } },
  })
  expect(ran).toMatchObject({ status: 200, data: { reply: expect.stringContaining('Report.') } })
  const unknown = await served.call('runSchedule', { path, body: { schedule: '--help' } })
  expect(unknown).toMatchObject({ status: 400, data: { code: 'USAGE' } })
  for (const [change, state] of [
    ['pause', 'paused'],
    ['resume', 'active'],
  ] as const)
    expect(await served.call('changeSchedule', { path, body: { schedule: 'daily', change } })).toMatchObject({
      data: { schedule: { state } },
    })
  await served.call('changeSchedule', { path, body: { schedule: 'daily', change: 'remove' } })
  expect(await served.call('listSchedules', { query: {} })).toMatchObject({ data: { schedules: [] } })
  await served.stop()
})

test('a calendar that cannot be read is refused with the line to type', async () => {
  const house = new House()
  await house.spawn('a')
  const served = await Served.start(house)
  const refused = await served.call('addSchedule', {
    ...{ path: { agent: 'a' }, body: { ...DAILY, when: 'every 61m' } },
  })
  expect(refused).toMatchObject({
    status: 400,
    data: { code: 'USAGE', next: expect.stringContaining("substrat schedule add a 'every 1h'") },
  })
  await served.stop()
})
