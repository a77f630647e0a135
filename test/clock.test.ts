import { expect, test } from 'vitest'
import { parseTime } from '../src/clock.js'
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
  const zone = process.env.TZ
  process.env.TZ = 'Pacific/Auckland'
  try {
    expect(parseTime(text)).toBe(stored)
  } finally {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  }
})

test.each([
  '',
  '5',
  '2026',
  'tomorrow',
  'Nov 20 2026',
  '2026-13-45',
  '+275760-09-13T00:00:00Z',
  '-000001-01-01T00:00:00Z',
  '9999-12-31T23:59:59-12:00',
  '0000-01-01T00:00:00+12:00',
])('%j is not a valid time', (text) => {
  expect(parseTime(text)).toBeUndefined()
})
