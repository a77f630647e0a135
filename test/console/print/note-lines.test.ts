import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { noteLines } from '../../../src/console/print/note-lines.js'

test('a note breaks between words, and a command in it stays whole', () => {
  const text =
    'substrat: the turn of bot is waiting for approval until tomorrow (substrat approve bot, or substrat deny bot --reason "no, never")'
  expect(noteLines(text, 40).split('\n')).toEqual([
    'substrat: the turn of bot is waiting for',
    'approval until tomorrow',
    '(substrat approve bot, or',
    'substrat deny bot --reason "no, never")',
  ])
})

test('a command that is wider than the terminal stands alone in one line, which the terminal breaks', () => {
  const command = `substrat recover ${'x'.repeat(36)} --as-interrupted --reason 'a b; c'`
  expect(noteLines(`it is held: see ${command}; then again`, 40)).toBe(
    `it is held: see\n${command};\nthen again`,
  )
})

test('the sign behind a command is never alone in a line', () => {
  const text = 'substrat: no such program (substrat set cc --option NAME=VALUE; then: substrat retry cc)'
  for (let columns = 20; columns < 100; columns++)
    for (const line of noteLines(text, columns).split('\n')) expect(line).toMatch(/\w{2}/)
  expect(noteLines(text, 60)).toBe(
    'substrat: no such program\n(substrat set cc --option NAME=VALUE; then:\nsubstrat retry cc)',
  )
})

test('the name of the program in a sentence begins no command', () => {
  expect(noteLines('use the version of substrat that wrote it', 24)).toBe(
    'use the version of\nsubstrat that wrote it',
  )
})

test('a word that is wider than the terminal has a line of its own', () => {
  expect(noteLines(`see ${'x'.repeat(30)} there`, 20)).toBe(`see\n${'x'.repeat(30)}\nthere`)
})

test('a line that fits stays as it is, with its spaces', () => {
  expect(noteLines('one  two\n  three ', 10)).toBe('one  two\n  three ')
})

test('wide characters count as two columns', () => {
  expect(noteLines('日本語 日本語', 8)).toBe('日本語\n日本語')
})

test('no code writes a line of substrat to stderr besides the one that breaks it', () => {
  const root = path.join(import.meta.dirname, '../../..')
  const found = execFileSync('sh', [
    '-c',
    `cd '${root}' && { grep -rnE "stderr\\.write\\(.?(substrat: |.\\{errorLine|.\\{core\\.errorLine)|stderr\\.write\\($" src commands plugins/*/src --include=*.ts || true; }`,
  ])
  // The bridge is a program of its own, started by agents and not by a person.
  expect(String(found).replace(/^src\/command\/mcp-bridge\.ts:.*\n/gm, '')).toBe('')
})
