/** The man pages as man-db, groff and mandoc read them. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'

const directory = path.join(import.meta.dirname, '..', '..', 'dist', 'man')
const pages = readdirSync(directory).map((name) => path.join(directory, name))
const options = {
  all: true,
  env: { LC_ALL: 'C.UTF-8', MANWIDTH: '80', MAN_KEEP_FORMATTING: '', PAGER: 'cat' },
} as const

test('man formats every page without a warning', async () => {
  const { stdout, stderr } = await execa('man', ['--warnings', '-l', ...pages], options)
  expect(stderr).toBe('')
  expect(stdout).toContain('--if-busy=wait|queue|fail')
  expect(stdout).toMatch(/damaged file +damages +0/)
})

test('lexgrog reads one name and its description from every page', async () => {
  const { stdout } = await execa('lexgrog', pages, options)
  const lines = stdout.split('\n')
  expect(lines).toHaveLength(pages.length)
  for (const line of lines) {
    const [, file = '', name] = /^(.*): "(\S+) - \S.*[^.]"$/.exec(line) ?? [line]
    expect(`${name}`, line).toBe(path.basename(file).replace(/\.\d$/, ''))
  }
})

test('mandoc finds only that the pages have no date', async () => {
  const { all = '' } = await execa('mandoc', ['-T', 'lint', '-W', 'warning', ...pages], {
    ...options,
    reject: false,
  })
  const findings = all.split('\n').filter((line) => line !== '')
  expect(findings.filter((line) => !line.includes('missing date'))).toEqual([])
  expect(findings).toHaveLength(pages.length)
})
