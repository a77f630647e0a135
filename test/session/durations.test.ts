/** Durations when the clock is set: the uptime of the boot decides, and the wall clock if the uptimes cannot be compared. */
import { describe, expect, test } from 'vitest'
import { isOver, isSetBack, rebasedEnd } from '../../src/session/durations.js'
import { reading } from '../support/readings.js'

const HOUR = 3_600_000
/** The step of the kernel's uptime, in ms. */
const STEP = 10
const at = (hours: number): string => new Date(Date.UTC(2026, 10, 20) + hours * HOUR).toISOString()
/** The time by a clock that is 400 days ahead. */
const ahead = (hours: number): string => at(400 * 24 + hours)

describe('a duration of two hours', () => {
  test.each([
    ['is not over after one hour by a right clock', at(0), reading(at(1), HOUR), false],
    ['is over after two hours by a right clock', at(0), reading(at(2), 2 * HOUR), true],
    ['is over after two hours by a clock that stays ahead', ahead(0), reading(ahead(2), 2 * HOUR), true],
    [
      'is not over after one hour if the clock was ahead and was corrected',
      ahead(0),
      reading(at(1), HOUR),
      false,
    ],
    [
      'is over after two hours if the clock was ahead and was corrected',
      ahead(0),
      reading(at(2), 2 * HOUR + STEP),
      true,
    ],
    [
      'is over after two hours if the clock was set back a year',
      at(0),
      reading(at(-8760), 2 * HOUR + STEP),
      true,
    ],
    [
      'is not over after exactly two hours of uptime, which may be rounded',
      ahead(0),
      reading(at(2), 2 * HOUR),
      false,
    ],
    ['is over after a restart and two hours by the clock', at(0), reading(at(2), 0, 'another'), true],
    [
      'is not over after a restart if the clock was set back',
      ahead(0),
      reading(at(3), 9 * HOUR, 'another'),
      false,
    ],
    ['is not over if the uptime is less than at its start', ahead(0), reading(at(3), -1), false],
  ])('%s', (_, beganAt, now, over) => {
    const began = reading(beganAt, 0)
    const end = new Date(Date.parse(beganAt) + 2 * HOUR).toISOString()
    expect(isOver(end, began, now)).toBe(over)
  })

  test('ends two hours after it is rebased, minus the elapsed uptime', () => {
    const began = reading(ahead(0), 0)
    expect(rebasedEnd(ahead(2), began, reading(at(10), HOUR / 2))).toBe(at(11.5))
    expect(rebasedEnd(ahead(2), began, reading(at(10), 0, 'another'))).toBe(at(12))
    expect(rebasedEnd(ahead(2), began, reading(at(10), 5 * HOUR))).toBe(at(10))
  })
})

test('a time that the user named follows the wall clock and not the uptime', () => {
  expect(isOver(at(2), null, reading(at(1), 99 * HOUR))).toBe(false)
  expect(isOver(at(2), undefined, reading(at(2)))).toBe(true)
})

test('a clock counts as set back if it is more than a minute behind', () => {
  expect(isSetBack(reading(at(1)), reading(at(1)))).toBe(false)
  expect(isSetBack(reading('2026-11-20T00:01:00.000Z'), reading('2026-11-20T00:00:00.000Z'))).toBe(false)
  expect(isSetBack(reading('2026-11-20T00:01:00.001Z'), reading('2026-11-20T00:00:00.000Z'))).toBe(true)
  expect(isSetBack(null, reading(at(0)))).toBe(false)
})
