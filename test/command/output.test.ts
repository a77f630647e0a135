import { describe, expect, test } from 'vitest'
import { asSubstratError } from '../../src/command/output.js'

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
