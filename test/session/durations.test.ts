/** Durations under clocks that are set: the uptime of one boot decides, and the wall clock where there is no more to go by. */
import { describe, expect, test } from 'vitest'
import { isOver, isSetBack, rebasedEnd } from '../../src/session/durations.js'
import { reading } from '../support/readings.js'

const HOUR = 3_600_000
/** In which the kernel gives its uptime. */
const STEP = 10
const at = (hours: number): string => new Date(Date.UTC(2026, 10, 20) + hours * HOUR).toISOString()
/** A clock that is 400 days ahead. */
const ahead = (hours: number): string => at(400 * 24 + hours)

describe('a duration of two hours', () => {
  test.each([
    ['under a right clock, an hour later', at(0), reading(at(1), HOUR), false],
    ['under a right clock, two hours later', at(0), reading(at(2), 2 * HOUR), true],
    ['under a clock that stays ahead, two hours later', ahead(0), reading(ahead(2), 2 * HOUR), true],
    ['begun ahead, the clock set right, an hour later', ahead(0), reading(at(1), HOUR), false],
    ['begun ahead, the clock set right, two hours later', ahead(0), reading(at(2), 2 * HOUR + STEP), true],
    [
      'begun right, the clock set back a year, two hours later',
      at(0),
      reading(at(-8760), 2 * HOUR + STEP),
      true,
    ],
    [
      'begun ahead, the clock set right, not surely two hours later',
      ahead(0),
      reading(at(2), 2 * HOUR),
      false,
    ],
    ['after a restart, two hours later by the clock', at(0), reading(at(2), 0, 'another'), true],
    ['after a restart, with a clock set back', ahead(0), reading(at(3), 9 * HOUR, 'another'), false],
    ['with an uptime that cannot be of the same boot', ahead(0), reading(at(3), -1), false],
  ])('%s', (_, beganAt, now, over) => {
    const began = reading(beganAt, 0)
    const end = new Date(Date.parse(beganAt) + 2 * HOUR).toISOString()
    expect(isOver(end, began, now)).toBe(over)
  })

  test('ends two hours after it is rebased, less what the uptime says is over', () => {
    const began = reading(ahead(0), 0)
    expect(rebasedEnd(ahead(2), began, reading(at(10), HOUR / 2))).toBe(at(11.5))
    expect(rebasedEnd(ahead(2), began, reading(at(10), 0, 'another'))).toBe(at(12))
    expect(rebasedEnd(ahead(2), began, reading(at(10), 5 * HOUR))).toBe(at(10))
  })
})

test('a time that somebody named is that of the wall clock, whatever the uptime says', () => {
  expect(isOver(at(2), null, reading(at(1), 99 * HOUR))).toBe(false)
  expect(isOver(at(2), undefined, reading(at(2)))).toBe(true)
})

test('a clock is set back where it is behind by more than a minute', () => {
  expect(isSetBack(reading(at(1)), reading(at(1)))).toBe(false)
  expect(isSetBack(reading('2026-11-20T00:01:00.000Z'), reading('2026-11-20T00:00:00.000Z'))).toBe(false)
  expect(isSetBack(reading('2026-11-20T00:01:00.001Z'), reading('2026-11-20T00:00:00.000Z'))).toBe(true)
  expect(isSetBack(null, reading(at(0)))).toBe(false)
})
