/** The rules of lint/rules.json find the habits that they are for, and no plain English. */
import { describe, expect, test } from 'vitest'
import { findingsIn } from '../../lint/findings.mjs'

function whatIn(file: string, text: string): string[] {
  return findingsIn(file, text).map(({ what }: { what: string }) => what)
}

/** In a page of docs/. */
function found(sentence: string): string[] {
  return whatIn('docs/page.md', `${sentence}\n`)
}

test.each([
  ['Whoever waits for a reply gets an error.', 'Agents that wait for a reply receive an error.'],
  ['Whose turn it is depends on the lock.', 'Whose turn it is depends on the lock.'],
  ['What is read first is the log.', 'The log is read first.'],
  ['It is told that the turn failed.', 'It receives an error that names the failed turn.'],
  ['The agent takes no turn until it is let run.', 'The agent starts no turn until you ungate it.'],
  ['Two attempts in vain end the turn.', 'Two failed attempts end the turn.'],
  ['Wait until agents are at rest.', 'Wait until agents are idle.'],
  ['The old token is worth nothing.', 'The old token stops working.'],
  ['The next command goes on with the turn.', 'The next command continues the turn.'],
  ['The file is no log.', 'The file is not a log.'],
  ['There is no file.', 'There is no file.'],
  ['Mail waits in the inbox.', 'Mail is pending in the inbox.'],
  ['The damaged log is kept.', 'substrat keeps the damaged log.'],
  ['Nothing stands in the way.', 'No lock blocks it.'],
  ['It does not run any more.', 'It no longer runs.'],
  ['The command looks what is on disk.', 'The command checks the disk.'],
  [
    'Of an idle agent the end of its snapshot is enough.',
    'For an idle agent the end of its snapshot is enough.',
  ],
])('%s → %s', (bad, good) => {
  expect(found(good)).toEqual([])
  if (bad !== good) expect(found(bad)).not.toEqual([])
})

describe('the length of a sentence', () => {
  const words = (count: number): string => `${Array.from({ length: count }, () => 'word').join(' ')}.`

  test('is at most 30 words in docs and 25 in help', () => {
    expect(found(words(30))).toEqual([])
    expect(found(words(31))).toEqual(['31 words'])
    const command = (text: string): string => `export default class X { static summary = '${text}' }`
    expect(whatIn('commands/x.ts', command(words(25)))).toEqual([])
    expect(whatIn('commands/x.ts', command(words(26)))).toEqual(['26 words'])
  })

  test('has no limit in a comment', () => {
    expect(whatIn('src/x.ts', `// ${words(60)}\n`)).toEqual([])
  })
})

describe('the texts of a source file', () => {
  test('are its comments, over several lines too', () => {
    expect(whatIn('src/x.ts', '// The agent is at\n// rest.\nconst x = 1\n')).toEqual(['at rest'])
    expect(whatIn('src/x.ts', '/**\n * The agent is at\n * rest.\n */\nconst x = 1\n')).toEqual(['at rest'])
  })

  test('are its messages, but no imports and no code in a template', () => {
    const template = ['`the agent $', '{name} is at rest`'].join('')
    expect(whatIn('src/x.ts', `throw new Error(${template})`)).toEqual(['at rest'])
    expect(whatIn('src/x.ts', "import { x } from './is at rest.js'")).toEqual([])
  })

  test('are titles in a test, and nothing else of its strings', () => {
    expect(whatIn('test/x.test.ts', "test('an agent is at rest', () => {})")).toEqual(['at rest'])
    expect(whatIn('test/x.test.ts', "expect(line).toBe('an agent is at rest')")).toEqual([])
  })
})

test('a page has no findings in its code', () => {
  expect(found('Run `substrat what is told` first.')).toEqual([])
  expect(whatIn('docs/page.md', '```\nWhat is told is at rest.\n```\n')).toEqual([])
})
