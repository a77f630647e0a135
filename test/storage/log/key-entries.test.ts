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

test('each entry is found by its hash, and no other', () => {
  const entries = made(300)
  for (let i = 0; i < 300; i++) expect(findEntry(entries, Buffer.from(hash(i), 'hex'))).toEqual(at(i))
  expect(findEntry(entries, Buffer.from(hash(300), 'hex'))).toBeUndefined()
  expect(findEntry(NONE, Buffer.from(hash(0), 'hex'))).toBeUndefined()
})

test('entries that are added take the place of those with the same hash', () => {
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

test('places of any size that a log can have are kept', () => {
  const place = { seq: 2 ** 47, offset: 2 ** 48 - 1, minute: 2 ** 31 }
  const entries = mergeEntries(NONE, new Map([[hash(1), place]]))
  expect(findEntry(entries, Buffer.from(hash(1), 'hex'))).toEqual(place)
})

describe('what is old', () => {
  test('is forgotten where enough are younger', () => {
    expect(seqsOf(forgetOld(made(10), { minuteMin: 6, keysMin: 4, keptMinutes: 0 }))).toEqual([6, 7, 8, 9])
  })

  test('is kept where it is among the latest', () => {
    expect(seqsOf(forgetOld(made(10), { minuteMin: 9, keysMin: 3, keptMinutes: 0 }))).toEqual([7, 8, 9])
    // Of one age, however old: the newest of them say nothing of the others.
    const ofOneAge = made(10, () => 1)
    expect(forgetOld(ofOneAge, { minuteMin: 9, keysMin: 3, keptMinutes: 0 })).toEqual(ofOneAge)
    expect(seqsOf(forgetOld(made(2), { minuteMin: 9, keysMin: 3, keptMinutes: 0 }))).toEqual([0, 1])
  })

  test('is kept where it is among the latest, though its clock was set back', () => {
    const setBack = made(10, (seq) => (seq < 8 ? 1000 + seq : seq))
    expect(seqsOf(forgetOld(setBack, { minuteMin: 1003, keysMin: 3, keptMinutes: 0 }))).toEqual([
      3, 4, 5, 6, 7, 8, 9,
    ])
  })

  test('is nothing that has just that age', () => {
    expect(seqsOf(forgetOld(made(4), { minuteMin: 0, keysMin: 1, keptMinutes: 0 }))).toEqual([0, 1, 2, 3])
    // By a clock that is far ahead: each is within the time of the oldest of the newest two.
    expect(seqsOf(forgetOld(made(4), { minuteMin: 999, keysMin: 2, keptMinutes: 5 }))).toEqual([0, 1, 2, 3])
  })
})
