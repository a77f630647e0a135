import { afterEach, expect, test } from 'vitest'
import { isUuid } from '../../src/format.js'
import { random, randomUuid } from '../../src/start/random.js'

const { bytes } = random

afterEach(() => {
  random.bytes = bytes
})

test('ids are UUIDs of version 4, and differ', () => {
  const ids = Array.from({ length: 1000 }, randomUuid)
  expect(new Set(ids).size).toBe(1000)
  for (const id of ids) {
    expect(isUuid(id)).toBe(true)
    expect(id).toMatch(/^.{14}4.{4}[89ab]/)
  }
})

test('the same bytes give the same id', () => {
  random.bytes = (size) => Buffer.alloc(size, 0xff)
  expect(randomUuid()).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff')
})

test.each([8, 15, 16, 17, 24, 5000])('%i random bytes are all new ones', (size) => {
  const drawn = Array.from({ length: 300 }, () => random.bytes(size))
  expect(new Set(drawn.map(({ length }) => length))).toEqual(new Set([size]))
  expect(new Set(drawn.map((each) => each.toString('hex'))).size).toBe(drawn.length)
})

test('the bytes of one caller do not change with those of another', () => {
  const [one, other] = [random.bytes(16), random.bytes(16)]
  const text = other.toString('hex')
  one.fill(0)
  expect(other.toString('hex')).toBe(text)
})
