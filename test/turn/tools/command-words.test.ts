/** Patterns of `--allow` match one simple command, and nothing that the shell would expand, chain or redirect. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { coversCall, isUsablePattern } from '../../../src/turn/tools/allow.js'
import { wordsOf } from '../../../src/turn/tools/command-words.js'

const covers = (entry: string, command: string): boolean => coversCall([entry], 'shell', { command })

describe('a pattern covers', () => {
  test.each([
    ['shell(git status)', 'git status'],
    ['shell(git status)', '  git \t status '],
    ['shell(git status)', `'git' "status"`],
    ['shell(git status)', 'g\\it status'],
    ['shell(npm test*)', 'npm test'],
    ['shell(npm test*)', 'npm test -- --watch'],
    ['shell(npm test*)', 'npm test:unit'],
    ['shell(npm test *)', 'npm test unit'],
    ['shell(echo *)', `echo 'a; rm -rf /' "b && c" d\\;e`],
    ['shell(echo "a b")', `echo 'a b'`],
  ])('%s: %s', (entry, command) => {
    expect(covers(entry, command)).toBe(true)
  })
})

/** Each would run, read or write something else if it counted as the allowed command. */
const HOSTILE = [
  'npm test; rm -rf /',
  'npm test && rm -rf /',
  'npm test || rm -rf /',
  'npm test | sh',
  'npm test |& sh',
  'npm test & rm -rf /',
  'npm test &',
  'npm test\nrm -rf /',
  'npm test\r\nrm -rf /',
  'npm test \\\nrm',
  'npm test $(rm -rf /)',
  'npm test "$(rm -rf /)"',
  'npm test `rm -rf /`',
  'npm test "`rm -rf /`"',
  `npm test $\{HOME}`,
  'npm test $HOME',
  'npm test "$HOME"',
  "npm test $'\\x3b' rm",
  'npm test $((1))',
  'npm test > /etc/passwd',
  'npm test >> ~/.profile',
  'npm test 2>/etc/passwd',
  'npm test < /etc/shadow',
  'npm test <<X',
  'npm test <(rm -rf /)',
  'npm test >(rm -rf /)',
  'npm test *',
  'npm test ?',
  'npm test [a-z]',
  'npm test {a,b}',
  'npm test ~root',
  'npm test # comment',
  '(npm test)',
  '{ npm test; }',
  '! npm test',
  'PATH=/evil npm test',
  // In bash, this assigns to `npm` and runs the command after it.
  'npm+=x npm test',
  "npm test 'unterminated",
  'npm test "unterminated',
  'npm test \\',
  'npm test\0rm',
  'npm\u00a0test',
  'npm\u2028test',
  'npm test\vrm',
  'npm test\u2028rm',
  'npm',
  'npm tes',
  'npmtest',
  '"npm test"',
  'NPM test',
  './npm test',
  '',
]

describe('a pattern does not cover', () => {
  test.each(HOSTILE)('%j', (command) => {
    expect(covers('shell(npm test*)', command)).toBe(false)
  })

  test.each(['npm+=x rm -rf /', 'npm=x rm -rf /', `npm[0]+=x rm -rf /`])(
    '%j, by its first word',
    (command) => {
      expect(covers('shell(npm*)', command)).toBe(false)
    },
  )

  // With LC_ALL=zh_CN.GBK, bash ends the quotes after the backslash, and runs rm.
  test.each(['echo "中\\"; rm -rf / #"', "echo 中\\'; rm -rf / #", 'echo "é\\"; rm -rf / #"'])(
    '%j',
    (command) => {
      expect(covers('shell(echo *)', command)).toBe(false)
    },
  )

  test('another command than the whole one, without a * at its end', () => {
    expect(covers('shell(git status)', 'git status -s')).toBe(false)
    expect(covers('shell(git status)', 'git statuses')).toBe(false)
    expect(covers('shell(npm test *)', 'npm test')).toBe(false)
    expect(covers('shell(npm test *)', 'npm tests x')).toBe(false)
  })

  test('another tool, or a call without a command', () => {
    expect(coversCall(['shell(git status)'], 'write_file', { command: 'git status' })).toBe(false)
    expect(coversCall(['shell(git status)'], 'shell', { command: 1 })).toBe(false)
    expect(coversCall(['shell(git status)'], 'shell', {})).toBe(false)
  })
})

test('the words are those that /bin/sh passes to the command', () => {
  const lines = [
    `a 'b c' "d e" f\\ g`,
    `a "\\$x \\"y\\" \\n" 'z\\'`,
    `a "" '' b`,
    `a b"c"'d'e`,
    'a  --x=1 -- %20 ü @ + , : .',
  ]
  for (const line of lines) {
    const { stdout } = spawnSync('/bin/sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    expect(wordsOf(line), line).toEqual(stdout.split('\0').slice(0, -1))
  }
})

test.each([
  'shell()',
  'shell(*)',
  'shell( )',
  'shell(git *status)',
  'shell(a; b)',
  'shell($x)',
  'shell(A=b c)',
  'write_file(x)',
  '(x)',
])('%s is not a usable pattern', (entry) => {
  expect(isUsablePattern(entry)).toBe(false)
})
