import { describe, expect, test } from 'vitest'
import { BUDGET_PERIODS } from '../../../src/schema/words.js'
import { endOfWindow, isZone, windowId, windowsNow } from '../../../src/session/budget/calendar.js'
import { Random } from '../../support/random.js'

const at = (iso: string): number => Date.parse(iso)

describe('the window of a moment', () => {
  test('is that of the calendar in its time zone', () => {
    const ms = at('2026-12-31T23:30:00Z')
    expect(BUDGET_PERIODS.map((period) => windowId(period, ms, 'UTC'))).toEqual([
      '2026-12-31T23',
      '2026-12-31',
      '2026-W53',
      '2026-12',
    ])
    expect(BUDGET_PERIODS.map((period) => windowId(period, ms, 'Europe/Berlin'))).toEqual([
      '2027-01-01T00',
      '2027-01-01',
      '2026-W53',
      '2027-01',
    ])
  })

  test('is an ISO week from Monday on', () => {
    expect(windowId('week', at('2027-01-03T23:59:59Z'), 'UTC')).toBe('2026-W53')
    expect(windowId('week', at('2027-01-04T00:00:00Z'), 'UTC')).toBe('2027-W01')
  })

  test('does not go back when the clock is set back', () => {
    const known = { day: '2026-11-29' }
    expect(windowsNow(['day'], at('2026-11-20T10:00:00Z'), 'UTC', known)).toEqual(known)
    expect(windowsNow(['day'], at('2026-11-30T10:00:00Z'), 'UTC', known)).toEqual({ day: '2026-11-30' })
  })
})

describe('the end of a window', () => {
  test('is its first moment that belongs to a later one', () => {
    const now = at('2026-11-29T10:20:30Z')
    const end = (period: (typeof BUDGET_PERIODS)[number], zone: string): string =>
      new Date(endOfWindow(period, windowId(period, now, zone), now, zone)).toISOString()
    expect(end('hour', 'UTC')).toBe('2026-11-29T11:00:00.000Z')
    expect(end('day', 'Europe/Berlin')).toBe('2026-11-29T23:00:00.000Z')
    expect(end('week', 'UTC')).toBe('2026-11-30T00:00:00.000Z')
    expect(end('month', 'America/New_York')).toBe('2026-12-01T05:00:00.000Z')
  })

  test('is found also by a clock that was set back by months', () => {
    const end = endOfWindow('month', '2026-11', at('2026-01-15T00:00:00Z'), 'UTC')
    expect(new Date(end).toISOString()).toBe('2026-12-01T00:00:00.000Z')
  })

  test('separates two windows at any time, in any zone', () => {
    const random = Random.announced('calendar')
    for (let n = 0; n < 60; n++) {
      const now = at('2026-01-01T00:00:00Z') + random.next() * 365 * 86_400_000
      for (const zone of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Pacific/Apia'])
        for (const period of BUDGET_PERIODS) {
          const id = windowId(period, now, zone)
          const end = endOfWindow(period, id, now, zone)
          const told = `seed ${random.seed}, ${period} of ${new Date(now).toISOString()} in ${zone}`
          expect(windowId(period, end, zone) > id, told).toBe(true)
          expect(windowId(period, end - 1, zone) <= id, told).toBe(true)
        }
    }
  })
})

test('a time zone has a name that the machine knows', () => {
  expect(['UTC', 'Europe/Berlin', ''].map(isZone)).toEqual([true, true, false])
  expect(isZone('Mars/Base')).toBe(false)
})
