import { expect, test } from 'vitest'
import { parsePattern } from '../../src/operations/text-pattern.js'

test.each<[string, string, boolean]>([
  ['failed', 'It FAILED', true],
  ['Failed', 'It FAILED', false],
  ['Failed', 'Failed', true],
  ['a.c', 'abc', false],
  ['a.c (x|y)', 'a.c (x|y)', true],
  ['größe', 'GRÖSSE und GRÖßE', true],
  ['日本', 'in 日本 heute', true],
  ['/usr/bin', 'in /usr/bin/node', true],
  ['/a.c/', 'abc', true],
  ['/a.c/', 'ABC', false],
  ['/a.c/i', 'ABC', true],
  ['/^two$/', 'one\ntwo\nthree', true],
])('%j in %j: %j', (written, text, isFound) => {
  expect(parsePattern(written).find(text) !== undefined).toBe(isFound)
})

test('a match has its place, and the next one is found after it', () => {
  const pattern = parsePattern('ab')
  expect(pattern.find('xABab')).toEqual({ start: 1, end: 3 })
  expect(pattern.find('xABab', 3)).toEqual({ start: 3, end: 5 })
  expect(pattern.find('xABab', 4)).toBe(undefined)
})

test('an empty text and an invalid expression are wrong usage', () => {
  expect(() => parsePattern('')).toThrow('the text to search for is empty')
  expect(() => parsePattern('/a(/')).toThrow(/^"\/a\(\/" is not a regular expression: Unterminated group$/)
})
