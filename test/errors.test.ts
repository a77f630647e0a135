import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type ErrorCode, EXIT_STATUS, SubstratError, shellWord } from '../src/errors.js'

test('docs/errors.md has exactly the codes of the program, each with its exit status and a meaning', () => {
  const page = readFileSync('docs/errors.md', 'utf8')
  const documented = [...page.matchAll(/^- `([A-Z_]+)` (\d+): (.*)$/gm)]
  expect(Object.fromEntries(documented.map(([, code, exit]) => [code, Number(exit)]))).toEqual(EXIT_STATUS)
  expect(documented).toHaveLength(Object.keys(EXIT_STATUS).length)
  for (const [, code, , meaning] of documented) expect(meaning, code).toMatch(/\w/)
})

test('an error exits with the status of its code', () => {
  for (const code of Object.keys(EXIT_STATUS) as ErrorCode[]) {
    expect(new SubstratError(code, 'x').exitStatus).toBe(EXIT_STATUS[code])
  }
})

test.each([
  ['notes', 'notes'],
  ['заметки-2', 'заметки-2'],
  ['my notes', "'my notes'"],
  ["it's", `'it'\\''s'`],
  ['$HOME', "'$HOME'"],
  ['a;b', "'a;b'"],
  ['', "''"],
])('%j in a command to paste is %s', (text, word) => {
  expect(shellWord(text)).toBe(word)
})
