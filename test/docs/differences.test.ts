/** docs/differences.md names parts of the program, and they exist. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/limits.js'
import { RECORDS } from '../../src/schema/records.js'

const root = path.join(import.meta.dirname, '../..')
const page = readFileSync(path.join(root, 'docs/differences.md'), 'utf8')
const codes = [...page.matchAll(/`([^`]+)`/g)].map(([, code]) => code as string)

describe('the page about the sources', () => {
  test('names only files and record kinds that exist', () => {
    const files = codes.filter((code) => code.startsWith('src/'))
    const kinds = codes.filter((code) => /^(run|token|session|message|tool|mail)\.[a-z_]+$/.test(code))
    expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([])
    expect(kinds.filter((kind) => !(kind in RECORDS))).toEqual([])
    expect([files.length > 3, kinds.length > 1]).toEqual([true, true])
  })

  test('has the numbers of the program', () => {
    expect(page).toContain('continuation stops after two attempts without progress')
    expect(limits.barrenAttemptsMax).toBe(2)
    expect(page).toContain('text over 64 KiB is a blob')
    expect(limits.inlineBytesMax).toBe(64 * 1024)
  })

  test('denies nothing that the commands have', () => {
    expect(page).not.toMatch(/no HTTP|no .*metrics|no .*migration/)
    expect(existsSync(path.join(root, 'commands/migrate.ts'))).toBe(true)
    expect(existsSync(path.join(root, 'plugins/serve/src/metrics'))).toBe(true)
  })
})
