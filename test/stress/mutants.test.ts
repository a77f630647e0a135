/** A sample of `npm run stress:mutants`, on each run of the tests: the mutants follow the program, and the run can tell. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { MUTANTS } from '../../stress/mutants/all.js'
import { mutated } from '../../stress/mutants/mutant.js'
import { repository } from '../../stress/support/lab.js'

const sources = new Map<string, string>()

function sourceOf(file: string): string {
  const source = sources.get(file) ?? readFileSync(join(repository, 'src', file), 'utf8')
  sources.set(file, source)
  return source
}

describe('each mutant', () => {
  test('has a name of its own', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  })

  test('finds its place once, and is still a program', async () => {
    const changed = MUTANTS.map((mutant) => mutated(sourceOf(mutant.file), mutant))
    await Promise.all(changed.map((source) => transform(source, { loader: 'ts' })))
    expect(changed.length).toBeGreaterThan(300)
  })

  test('has suites that are there', () => {
    const files = MUTANTS.flatMap(({ suites }) => suites.map((suite) => suite.split('#')[0]))
    expect(files.filter((file) => !existsSync(join(repository, 'test', `${file}.test.ts`)))).toEqual([])
  })
})

const NOTICED = 'a revoked token can be used'
const EQUIVALENT = 'secrets are compared in a time that depends on them'

test('a mutant is noticed, and one that nobody can notice is not', async () => {
  const args = ['stress/run.mjs', 'mutants', '--only', NOTICED, '--only', EQUIVALENT]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: repository })
  expect(stdout).toMatch(new RegExp(`^noticed .*: ${NOTICED}\\n +by turn/decision: `, 'm'))
  expect(stdout).toMatch(new RegExp(`^equivalent .*: ${EQUIVALENT}$`, 'm'))
})
