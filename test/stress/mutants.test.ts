/**
 * Runs a sample of `npm run stress:mutants`. Shows that the mutants follow changes of the program, and that the run
 * notices a defect.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { MUTANTS } from '../../stress/mutants/all.js'
import { brokenSources, CANARIES } from '../../stress/mutants/canaries.js'
import { type Sources, sourcesIn } from '../../stress/mutants/code.js'
import { editsOf, type Mutant, mutate } from '../../stress/mutants/mutant.js'
import { repository } from '../../stress/support/lab.js'
import { titlesIn } from '../support/titles.js'

const sources = sourcesIn(repository)

/** The names of the code that the mutant changes, without the words of the language and of the contract. */
function namesIn(mutant: Mutant): string[] {
  const words = editsOf(mutant).flatMap(([code]) => code.match(/(?<!['\w])[a-z]+[A-Z]\w*/g) ?? [])
  return [...new Set(words)]
}

describe('each mutant', () => {
  test('has a unique name', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  })

  test('finds its code and makes a valid program', async () => {
    // Each failure names its mutant, so that one run shows all that must be corrected.
    const failures: string[] = []
    const changed = MUTANTS.flatMap((mutant) => {
      try {
        return [mutate(sources, mutant)]
      } catch (error) {
        failures.push((error as Error).message)
        return []
      }
    })
    expect(failures).toEqual([])
    await Promise.all(changed.map(({ source }) => transform(source, { loader: 'ts' })))
    expect(changed.filter(({ file, source }) => source === sources.get(file))).toEqual([])
    expect(changed.length).toBeGreaterThan(500)
  })

  test('makes the same change after a name in its code has changed', () => {
    const found = MUTANTS.map((mutant) => {
      const { file, source } = mutate(sources, mutant)
      const [name = 'aNameThatIsNowhere'] = namesIn(mutant)
      const renamed = (text: string): string => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), 'newName')
      const program: Sources = new Map([...sources, [file, renamed(sources.get(file) as string)]])
      try {
        return mutate(program, mutant).source === renamed(source) ? 'same' : `${mutant.name}: ${name}`
      } catch {
        return 'refused'
      }
    })
    expect(found.filter((each) => each !== 'same' && each !== 'refused')).toEqual([])
    // Code that is too short to be found by its form must be corrected by hand.
    expect(found.filter((each) => each === 'refused').length).toBeLessThan(MUTANTS.length / 4)
  })

  test('makes the same change after its function has moved to another file, with other lines and comments', () => {
    for (const mutant of MUTANTS.filter((_, index) => index % 20 === 0)) {
      const { file, source } = mutate(sources, mutant)
      const spread = (text: string): string => `// Moved.\n${text.replaceAll('\n', '\n\n')}`
      const program = new Map([...sources, ['elsewhere.ts', spread(sources.get(file) as string)]])
      program.delete(file)
      expect(mutate(program, mutant)).toEqual({ file: 'elsewhere.ts', source: expect.any(String) })
      expect(mutate(program, mutant).source.replaceAll(/\s+/g, '')).toBe(
        spread(source).replaceAll(/\s+/g, ''),
      )
    }
  })

  test('names exactly one disk step, if it leaves one out or dies there', () => {
    const program = [...sources.values()].join('\n')
    const deaths = CANARIES.tree.flatMap(({ dies }) => dies?.before ?? [])
    const steps = MUTANTS.flatMap((mutant) => ('step' in mutant ? [mutant.step] : []))
    expect([...steps, ...deaths].filter((step) => program.split(`'${step}'`).length !== 2)).toEqual([])
  })

  test('changes the program, if it is a canary', () => {
    for (const canary of Object.values(CANARIES).flat())
      for (const [file, source] of brokenSources(canary)) expect(source).not.toBe(sources.get(file))
  })

  test('has suites that exist', () => {
    const files = MUTANTS.flatMap(({ suites }) => suites.map((suite) => suite.split('#')[0]))
    expect(files.filter((file) => !existsSync(join(repository, 'test', `${file}.test.ts`)))).toEqual([])
  })

  test('has words after a # that occur in a title of the suite', () => {
    const filters = MUTANTS.flatMap(({ suites }) => suites.filter((suite) => suite.includes('#')))
    const unmatched = [...new Set(filters)].filter((suite) => {
      const [file, words = ''] = suite.split('#')
      const source = readFileSync(join(repository, 'test', `${file}.test.ts`), 'utf8')
      return !titlesIn(source).some((title) => title.includes(words))
    })
    expect(filters.length).toBeGreaterThan(30)
    expect(unmatched).toEqual([])
  })

  test('is named with its code, if that is gone or in two places', () => {
    const mutant = MUTANTS.find(({ name }) => name === NOTICED) as Mutant
    const { file, source } = mutate(sources, mutant)
    const code = editsOf(mutant)[0]?.[0] as string
    expect(() => mutate(new Map([...sources, [file, source]]), mutant)).toThrow(
      `the mutant "${NOTICED}": src/ does not have this code any more, correct it: ${code}`,
    )
    expect(() => mutate(new Map([...sources, ['copy.ts', code]]), mutant)).toThrow(
      `src/ has this code more than once, name more of it: ${code}`,
    )
  })
})

const NOTICED = 'a revoked token can be used'
const EQUIVALENT = 'secrets are not compared in constant time'

test('a mutant is noticed, and an equivalent one is not', async () => {
  const args = ['stress/run.mjs', 'mutants', '--only', NOTICED, '--only', EQUIVALENT]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: repository })
  expect(stdout).toMatch(new RegExp(`^noticed .*: ${NOTICED}\\n +by turn/tokens: `, 'm'))
  expect(stdout).toMatch(new RegExp(`^equivalent .*: ${EQUIVALENT}$`, 'm'))
})
