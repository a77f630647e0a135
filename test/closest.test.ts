import { expect, test } from 'vitest'
import { suggestion } from '../src/closest.js'

test.each([
  ['sned', 'send'],
  ['wiat', 'wait'],
  ['recovr', 'recover'],
  ['spwan', 'spawn'],
  ['cancell', 'cancel'],
])('%s means %s', (word, meant) => {
  expect(suggestion(word, ['spawn', 'list', 'send', 'wait', 'recover', 'cancel'])).toBe(
    `; did you mean ${meant}?`,
  )
})

test('a word without a similar one has no suggestion', () => {
  expect(suggestion('nonsense', ['send', 'wait'])).toBe('')
  expect(suggestion('ab', ['cd'])).toBe('')
  expect(suggestion('send', [])).toBe('')
})
