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
