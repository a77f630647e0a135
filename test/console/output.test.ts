import { describe, expect, test } from 'vitest'
import { asSubstratError, errorLine, printableText } from '../../src/console/output.js'
import { SubstratError } from '../../src/errors.js'

describe('too many open files', () => {
  test.each([
    ['of Node', Object.assign(new Error('EMFILE: too many open files, open x'), { code: 'EMFILE' })],
    [
      'of a system call within Node',
      Object.assign(new Error('A system error occurred: uv_os_get_passwd returned EMFILE'), {
        code: 'ERR_SYSTEM_ERROR',
        info: { code: 'EMFILE' },
      }),
    ],
  ])('%s are a storage failure, not a bug of substrat', (_, thrown) => {
    const error = asSubstratError(thrown, 'substrat send')
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', exitStatus: 11, facts: { errno: 'EMFILE' } })
    expect(error.hint).toContain('ulimit -n')
  })
})

describe('the line on stderr', () => {
  const lineOf = (message: string, hint?: string): string =>
    errorLine(new SubstratError('USAGE', message, hint === undefined ? {} : { hint }))

  test('is one line of plain text, even if it quotes control characters', () => {
    expect(lineOf('no \u001b[2J\nsubstrat: all is well', 'abc\u202egnp')).toBe(
      'substrat: no  [2J substrat: all is well (abc gnp)',
    )
  })

  test('has a readable length', () => {
    expect(lineOf('x'.repeat(100_000), 'y'.repeat(100_000)).length).toBeLessThan(10_000)
  })
})

describe('text for a person', () => {
  const hostile = 'a\u001b]52;c;eA==\u0007\r\u009b2Jb\u202ec\u2066d\té\n'

  test('shows control and direction characters as codes on a terminal', () => {
    expect(printableText(hostile, { isTTY: true })).toBe(
      'a\\x1b]52;c;eA==\\x07\\x0d\\x9b2Jb\\u202ec\\u2066d\té\n',
    )
  })

  test('stays exact in a pipe', () => {
    expect(printableText(hostile, {})).toBe(hostile)
  })
})
