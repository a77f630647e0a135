import { expect, test } from 'vitest'
import type { SubstratError } from '../../src/errors.js'
import { parseWhen, parseZone } from '../../src/schedule/when.js'

const OPTIONS = {
  zone: 'UTC',
  from: '2026-11-20T10:00:00.000Z',
  until: null,
  line: (when: string) => `substrat schedule add a '${when}' hi`,
}

function refusal(act: () => unknown): Pick<SubstratError, 'code' | 'message' | 'hint'> {
  try {
    act()
  } catch (error) {
    const { code, message, hint } = error as SubstratError
    return { code, message, hint }
  }
  throw new Error('it was not refused')
}

test.each([
  ['every 1m', '* * * * *'],
  ['every 15m', '*/15 * * * *'],
  ['every 1h', '0 * * * *'],
  ['every 6h', '0 */6 * * *'],
  ['every 1d', '0 0 * * *'],
  ['0  7 * *  MON-FRI ', '0 7 * * MON-FRI'],
])('%j is the calendar %j', (when, calendar) => {
  expect(parseWhen(when, OPTIONS).calendar).toBe(calendar)
})

test('the first slot is after the command, and the shortest time between two slots is known', () => {
  expect(parseWhen('0,10 * * * *', OPTIONS)).toEqual({
    ...{ calendar: '0,10 * * * *', time_zone: 'UTC', first: '2026-11-20T10:10:00.000Z', everyMs: 600_000 },
  })
})

test.each([
  ['every 61m', '61 minutes do not divide an hour', "'every 1h'"],
  ['every 7m', '7 minutes do not divide an hour', "'every 6m'"],
  ['every 5h', '5 hours do not divide a day', "'every 4h'"],
  ['every 36h', '36 hours do not divide a day', "'every 1d'"],
  ['every 0m', '0 minutes do not divide an hour', "'every 1m'"],
  ['every 2d', 'days are counted only one by one', "'every 1d'"],
  ['61 * * * *', 'Invalid value for minute: 61', "'0 7 * * *'"],
  ['0 7 * * FUNDAY', 'is not a calendar', "'0 7 * * *'"],
  ['0 0 30 2 *', 'never matches', "'0 7 L * *'"],
  ['* * * * * *', 'is neither an interval nor five fields of cron', "'every 1h'"],
  ['@daily', 'is neither an interval nor five fields of cron', "'every 1h'"],
  ['tomorrow', 'is neither an interval nor five fields of cron', "'every 1h'"],
  ['', 'is neither an interval nor five fields of cron', "'every 1h'"],
])('%j is refused with the line to type', (when, why, line) => {
  const { code, message, hint } = refusal(() => parseWhen(when, OPTIONS))
  expect(code).toBe('USAGE')
  expect(message).toContain(why)
  expect(hint).toContain(`substrat schedule add a ${line} hi`)
})

test('each interval that a refusal names is taken', () => {
  for (const unit of ['m', 'h', 'd']) {
    const { hint } = refusal(() => parseWhen(`every 59${unit}`, OPTIONS))
    const named = (hint as string).match(/\d+[mhd](?=[,:])/g) ?? []
    expect(named.length).toBeGreaterThan(0)
    for (const interval of named) expect(parseWhen(`every ${interval}`, OPTIONS).first).toMatch(/^2026/)
  }
})

test('a calendar whose first slot is after --until is refused', () => {
  const until = '2026-11-20T10:30:00.000Z'
  expect(refusal(() => parseWhen('every 1h', { ...OPTIONS, until })).message).toContain('is after --until')
})

test('a zone is stored as its database spells it', () => {
  expect(parseZone('europe/berlin', OPTIONS.line)).toBe('Europe/Berlin')
})

test.each([
  ['Europe/Berlim', 'Europe/Berlin'],
  ['+01:00', ''],
  ['Mars/Olympus', ''],
])('the zone %j is refused with one that exists', (zone, known) => {
  const { code, hint } = refusal(() => parseZone(zone, (other) => `substrat … --tz ${other}`))
  expect(code).toBe('USAGE')
  expect(hint).toContain(`--tz ${known}`)
})
