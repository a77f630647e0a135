import { describe, expect, test } from 'vitest'
import {
  eachEntry,
  findEntry,
  forgetOld,
  type KeyPlace,
  mergeEntries,
} from '../../../src/storage/log/key-entries.js'

const NONE = Buffer.alloc(0)
const hash = (number: number): string =>
  Math.imul(number, 2654435761).toString(16).slice(-6).padStart(32, '0')
const at = (seq: number, minute = seq): KeyPlace => ({ seq, offset: seq * 1000, minute })
const made = (count: number, minuteOf = (seq: number) => seq): Buffer =>
  mergeEntries(NONE, new Map(Array.from({ length: count }, (_, i) => [hash(i), at(i, minuteOf(i))])))
const seqsOf = (entries: Buffer): number[] =>
  [...eachEntry(entries)].map(([, { seq }]) => seq).sort((a, b) => a - b)

test('each key entry is found by its own hash and by no other', () => {
  const entries = made(300)
  for (let i = 0; i < 300; i++) expect(findEntry(entries, Buffer.from(hash(i), 'hex'))).toEqual(at(i))
  expect(findEntry(entries, Buffer.from(hash(300), 'hex'))).toBeUndefined()
  expect(findEntry(NONE, Buffer.from(hash(0), 'hex'))).toBeUndefined()
})

test('a new key entry replaces one with the same hash', () => {
  const added = new Map([
    ...[0, 7, 299].map((i) => [hash(i), at(1000 + i)] as const),
    [hash(300), at(300)] as const,
  ])
  const merged = mergeEntries(made(300), added)
  expect([...eachEntry(merged)]).toHaveLength(301)
  for (const [key, place] of added) expect(findEntry(merged, Buffer.from(key, 'hex'))).toEqual(place)
  expect(findEntry(merged, Buffer.from(hash(8), 'hex'))).toEqual(at(8))
  expect(merged).toEqual(mergeEntries(NONE, new Map(eachEntry(merged))))
})

test('a key entry holds any place that a log can have', () => {
  const place = { seq: 2 ** 47, offset: 2 ** 48 - 1, minute: 2 ** 31 }
  const entries = mergeEntries(NONE, new Map([[hash(1), place]]))
  expect(findEntry(entries, Buffer.from(hash(1), 'hex'))).toEqual(place)
})

describe('an old key', () => {
  test('is forgotten if enough keys are newer', () => {
    expect(seqsOf(forgetOld(made(10), { minuteMin: 6, keysMin: 4, keptMinutes: 0 }))).toEqual([6, 7, 8, 9])
  })

  test('stays if it is among the newest keys', () => {
    expect(seqsOf(forgetOld(made(10), { minuteMin: 9, keysMin: 3, keptMinutes: 0 }))).toEqual([7, 8, 9])
    // All of one age: then even very old keys stay.
    const ofOneAge = made(10, () => 1)
    expect(forgetOld(ofOneAge, { minuteMin: 9, keysMin: 3, keptMinutes: 0 })).toEqual(ofOneAge)
    expect(seqsOf(forgetOld(made(2), { minuteMin: 9, keysMin: 3, keptMinutes: 0 }))).toEqual([0, 1])
  })

  test('stays if it is among the newest keys, even if the clock was set back', () => {
    const setBack = made(10, (seq) => (seq < 8 ? 1000 + seq : seq))
    expect(seqsOf(forgetOld(setBack, { minuteMin: 1003, keysMin: 3, keptMinutes: 0 }))).toEqual([
      3, 4, 5, 6, 7, 8, 9,
    ])
  })

  test('stays at exactly the age limit', () => {
    expect(seqsOf(forgetOld(made(4), { minuteMin: 0, keysMin: 1, keptMinutes: 0 }))).toEqual([0, 1, 2, 3])
    // With a clock far ahead: each key is within keptMinutes of the oldest of the newest two.
    expect(seqsOf(forgetOld(made(4), { minuteMin: 999, keysMin: 2, keptMinutes: 5 }))).toEqual([0, 1, 2, 3])
  })
})
