import { describe, expect, test } from 'vitest'
import { asSubstratError, errorLine, printableText } from '../../src/command/output.js'
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
  ])('%s are a failure of storage, and no defect', (_, thrown) => {
    const error = asSubstratError(thrown, 'substrat send')
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', exitStatus: 11, facts: { errno: 'EMFILE' } })
    expect(error.hint).toContain('ulimit -n')
  })
})

describe('the line on stderr', () => {
  const lineOf = (message: string, hint?: string): string =>
    errorLine(new SubstratError('USAGE', message, hint === undefined ? {} : { hint }))

  test('is one line of plain text, whatever is repeated in it', () => {
    expect(lineOf('no \u001b[2J\nsubstrat: all is well', 'abc\u202egnp')).toBe(
      'substrat: no  [2J substrat: all is well (abc gnp)',
    )
  })

  test('is of a length that a person can read', () => {
    expect(lineOf('x'.repeat(100_000), 'y'.repeat(100_000)).length).toBeLessThan(10_000)
  })
})

describe('what a person is shown', () => {
  const hostile = 'a\u001b]52;c;eA==\u0007\r\u009b2Jb\u202ec\u2066d\té\n'

  test('on a terminal is text: what would steer it, or turn the text around, is shown', () => {
    expect(printableText(hostile, { isTTY: true })).toBe(
      'a\\x1b]52;c;eA==\\x07\\x0d\\x9b2Jb\\u202ec\\u2066d\té\n',
    )
  })

  test('in a pipe is exact', () => {
    expect(printableText(hostile, {})).toBe(hostile)
  })
})
