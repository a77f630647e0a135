/** The files that npm puts into the package. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { npm } from '../support/npm.js'

const repository = join(import.meta.dirname, '..', '..')

test('the package has no file of the labs or the tests', async () => {
  const [{ files }] = JSON.parse(
    await npm(repository, 'pack', '--dry-run', '--json', '--ignore-scripts'),
  ) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  expect(paths).toContain('docs/durability.md')
  expect(paths).toEqual(expect.arrayContaining(['dist/schemas/index.json', 'dist/schemas/record.json']))
  expect(paths).toContain('dist/substrat.cjs')
  expect(paths.filter((path) => /^(stress|test)\//.test(path))).toEqual([])
})

test('no script of npm has the flag -ws, for which npm prints a warning', () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
  for (const command of Object.values(scripts)) expect(command).not.toMatch(/ -ws\b/)
})
