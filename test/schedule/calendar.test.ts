import { expect, test } from 'vitest'
import { slotAfter, slotsUntil } from '../../src/schedule/calendar.js'
import { Random } from '../support/random.js'

const DAY_MS = 24 * 3600 * 1000
const iso = (at: number): string => new Date(at).toISOString()

function nextOnes(calendar: string, time_zone: string, from: string, count: number): string[] {
  const slots: string[] = []
  let at: string | null = from
  while (slots.length < count) {
    at = slotAfter({ calendar, time_zone, until: null }, at)
    if (at === null) break
    slots.push(at.slice(0, 16))
  }
  return slots
}

test.each([
  {
    what: 'a time of day that summer time leaves out is at the end of the gap',
    calendar: '30 2 * * *',
    from: '2026-03-28T12:00:00.000Z',
    slots: ['2026-03-29T01:00', '2026-03-30T00:30'],
  },
  {
    what: 'times that meet at the end of the gap are one slot',
    calendar: '15,45 2 * * *',
    from: '2026-03-28T12:00:00.000Z',
    slots: ['2026-03-29T01:00', '2026-03-30T00:15', '2026-03-30T00:45'],
  },
  {
    what: 'a time of day that occurs twice is one slot, the first',
    calendar: '30 2 * * *',
    from: '2026-10-24T12:00:00.000Z',
    slots: ['2026-10-25T00:30', '2026-10-26T01:30'],
  },
  {
    what: 'an interval goes on through the repeated hour',
    calendar: '*/30 * * * *',
    from: '2026-10-25T00:00:00.000Z',
    slots: ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
  },
  {
    what: 'an interval goes on through the gap',
    calendar: '*/30 * * * *',
    from: '2026-03-29T00:15:00.000Z',
    slots: ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30'],
  },
  {
    what: 'a leap day comes every four years',
    calendar: '0 12 29 2 *',
    from: '2026-01-01T00:00:00.000Z',
    slots: ['2028-02-29T11:00', '2032-02-29T11:00'],
  },
  {
    what: 'months without a 31st have no slot',
    calendar: '0 12 31 * *',
    from: '2026-03-01T00:00:00.000Z',
    slots: ['2026-03-31T10:00', '2026-05-31T10:00', '2026-07-31T10:00'],
  },
  {
    what: 'the last day of each month is L',
    calendar: '0 12 L * *',
    from: '2028-01-15T00:00:00.000Z',
    slots: ['2028-01-31T11:00', '2028-02-29T11:00', '2028-03-31T10:00'],
  },
])('$what', ({ calendar, from, slots }) => {
  expect(nextOnes(calendar, 'Europe/Berlin', from, slots.length)).toEqual(slots)
})

test('the zone is that of the calendar, not of the machine', () => {
  const from = '2026-11-20T00:00:00.000Z'
  expect(nextOnes('0 7 * * *', 'Asia/Kathmandu', from, 1)).toEqual(['2026-11-20T01:15'])
  expect(nextOnes('0 7 * * *', 'America/New_York', from, 1)).toEqual(['2026-11-20T12:00'])
})

test('no slot is later than until', () => {
  const schedule = { calendar: '0 * * * *', time_zone: 'UTC', until: '2026-11-20T02:00:00.000Z' }
  expect(slotAfter(schedule, '2026-11-20T01:30:00.000Z')).toBe('2026-11-20T02:00:00.000Z')
  expect(slotAfter(schedule, '2026-11-20T02:00:00.000Z')).toBe(null)
})

test('a range of slots is counted as slot by slot, also across changes of the clock', () => {
  const random = Random.announced('slots')
  const zones = [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Apia',
  ]
  const minutes = ['0', '30', '*/15', '*', '5,35', '10-20']
  const hours = ['*', '2', '*/6', '1,2,3', '0', '23']
  const days = ['* * *', '1 * *', '* * MON', '31 * *', 'L * *', '*/2 * *']
  for (let round = 0; round < 60; round++) {
    const calendar = `${random.pick(minutes)} ${random.pick(hours)} ${random.pick(days)}`
    const zone = random.pick(zones)
    const begin = Date.UTC(2026, 0, 1) + random.below(365) * DAY_MS + random.below(DAY_MS)
    const first = slotAfter({ calendar, time_zone: zone, until: null }, iso(begin)) as string
    const to = iso(Date.parse(first) + random.below(12 * DAY_MS))
    const until = random.chance(0.5) ? iso(Date.parse(first) + random.below(12 * DAY_MS)) : null
    const schedule = { calendar, time_zone: zone, until }
    let [count, last, next] = [1, first, slotAfter(schedule, first)]
    while (next !== null && next <= to) [count, last, next] = [count + 1, next, slotAfter(schedule, next)]
    expect({ schedule, first, to, ...slotsUntil(schedule, first, to) }).toEqual({
      ...{ schedule, first, to, last, count, next },
    })
  }
})

test('the last day of until is counted only up to it', () => {
  const schedule = { calendar: '* * * * *', time_zone: 'UTC', until: '2026-12-02T12:00:00.000Z' }
  expect(slotsUntil(schedule, '2026-11-29T04:05:00.000Z', '2026-12-06T04:00:00.000Z')).toEqual({
    count: 4796,
    last: '2026-12-02T12:00:00.000Z',
    next: null,
  })
})

test('a day with a change of the clock is counted by its own slots', () => {
  const schedule = { calendar: '0 1,4 * * *', time_zone: 'Europe/Berlin', until: null }
  expect(slotsUntil(schedule, '2026-10-19T23:00:00.000Z', '2026-10-30T12:00:00.000Z')).toEqual({
    count: 22,
    last: '2026-10-30T03:00:00.000Z',
    next: '2026-10-31T00:00:00.000Z',
  })
})

test('a year of minutes is counted', () => {
  const schedule = { calendar: '* * * * *', time_zone: 'Europe/Berlin', until: null }
  expect(slotsUntil(schedule, '2026-01-01T00:00:00.000Z', '2026-12-31T23:59:30.000Z')).toEqual({
    count: 525_600,
    last: '2026-12-31T23:59:00.000Z',
    next: '2027-01-01T00:00:00.000Z',
  })
})
