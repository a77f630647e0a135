import { afterEach, describe, expect, test, vi } from 'vitest'
import { afterRunning, clock, parseTime, readableTime } from '../src/clock.js'
import { isTime } from '../src/format.js'

test.each([
  ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00.000Z'],
  ['2026-11-20T10:00:00+02:00', '2026-11-20T08:00:00.000Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
])('%s is a valid time for a record', (text, stored) => {
  expect(parseTime(text)).toBe(stored)
  expect(isTime(stored)).toBe(true)
})

test.each([
  ['2026-11-20', '2026-11-19T11:00:00.000Z'],
  ['2026-07-20', '2026-07-19T12:00:00.000Z'],
  ['2026-11-20T10:00', '2026-11-19T21:00:00.000Z'],
])('%s, without a zone, is local', (text, stored) => {
  expect(inZone('Pacific/Auckland', () => parseTime(text))).toBe(stored)
})

test.each([
  ['UTC', '2026-11-20 10:00:09Z'],
  ['Europe/Berlin', '2026-11-20 11:00:09+01:00'],
  ['America/St_Johns', '2026-11-20 06:30:09-03:30'],
  ['Pacific/Auckland', '2026-11-20 23:00:09+13:00'],
])('in %s a person reads a stored time as %s, and can type it', (zone, text) => {
  const stored = '2026-11-20T10:00:09.500Z'
  expect(inZone(zone, () => readableTime(stored))).toBe(text)
  expect(parseTime(text)).toBe('2026-11-20T10:00:09.000Z')
})

function inZone<T>(zone: string, run: () => T): T {
  const before = process.env.TZ
  process.env.TZ = zone
  try {
    return run()
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
}

test.each([
  '',
  '5',
  '2026',
  'tomorrow',
  'Nov 20 2026',
  '2026-13-45',
  '2026-02-30',
  '2026-02-29T10:00',
  '2026-04-31T10:00:00Z',
  '2026-11-00',
  '+275760-09-13T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '9999-12-31T23:59:59-12:00',
  '0000-01-01T00:00:00+12:00',
])('%j is not a valid time', (text) => {
  expect(parseTime(text)).toBeUndefined()
})

describe('a wait for the time that the process runs', () => {
  const { monotonic } = clock
  let nowMs = 0

  afterEach(() => {
    vi.useRealTimers()
    clock.monotonic = monotonic
  })

  /** The process runs for `ms`. */
  function run(ms: number): void {
    for (let left = ms; left > 0; left -= 100) {
      nowMs += 100
      vi.advanceTimersByTime(100)
    }
  }

  function begin(ms: number): { isOver: () => boolean; end: () => void } {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    clock.monotonic = () => nowMs
    let isOver = false
    const end = afterRunning(ms, () => {
      isOver = true
    })
    return { isOver: () => isOver, end }
  }

  test('ends after that time', () => {
    const { isOver } = begin(60_000)
    run(59_900)
    expect(isOver()).toBe(false)
    run(200)
    expect(isOver()).toBe(true)
  })

  test('does not count the hours in which the machine slept', () => {
    const { isOver } = begin(60_000)
    run(20_000)
    nowMs += 8 * 3_600_000
    run(30_000)
    expect(isOver()).toBe(false)
    run(10_200)
    expect(isOver()).toBe(true)
  })

  test('counts the delays of a busy machine', () => {
    const { isOver } = begin(60_000)
    for (let step = 0; step < 8; step++) {
      nowMs += 3000
      run(5000)
    }
    expect(isOver()).toBe(true)
  })

  test('ends early on request', () => {
    const { isOver, end } = begin(1000)
    end()
    run(5000)
    expect(isOver()).toBe(false)
  })
})
