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
import { REFERENCE } from '../../stress/mutants/change.js'
import { type Mutant, mutate } from '../../stress/mutants/mutant.js'
import { type Sources, sourcesIn } from '../../stress/mutants/place.js'
import { shapesOf } from '../../stress/mutants/shapes.js'
import { placesIn, programOf } from '../../stress/mutants/syntax.js'
import { repository } from '../../stress/support/lab.js'
import { titlesIn } from '../support/titles.js'

const sources = sourcesIn(repository)

function mutatedIn(program: Sources, mutant: Mutant): { file: string; source: string } {
  return mutate(program, mutant, shapesOf(mutant))
}

/** Words of JavaScript and Node, and variables that a mutant declares itself. */
const LANGUAGE =
  /^(constructor|undefined|null|true|false|never|string|Infinity|Number|isNaN|String|Math|random|min|sort|process|stdout|Promise|resolve|then|setTimeout|Buffer|alloc|length|slice|write|end|each|result|const|new|await|async|return|throw|try|catch|finally|if|else|for|of|in|break|typeof|void|this|as)$/
/** Fields on disk, which keep their names. */
const FIELD = /^(message_id|kind|content|at|updated_at)$/
const SUFFIX = 'Renamed'

/** Renames every function, variable and property of the source. */
function renamed(source: string): string {
  const ends = [...placesIn(programOf(source))].flatMap(({ node: { type, name, start } }) =>
    type !== 'Identifier' || LANGUAGE.test(name as string) || FIELD.test(name as string)
      ? []
      : [start + (name as string).length],
  )
  const pieces = [...new Set([0, ...ends, source.length])].sort((a, b) => a - b)
  return pieces
    .map((end, index) => source.slice(pieces[index - 1] ?? 0, end))
    .join(SUFFIX)
    .slice(SUFFIX.length)
}

describe('each mutant', () => {
  test('has a unique name', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  })

  test('finds its place and makes a valid program', async () => {
    const changed = MUTANTS.map((mutant) => mutatedIn(sources, mutant))
    await Promise.all(changed.map(({ source }) => transform(source, { loader: 'ts' })))
    expect(changed.filter(({ file, source }) => source === sources.get(file))).toEqual([])
    expect(changed.length).toBeGreaterThan(500)
  })

  test('contains no name of the program', () => {
    const edits = MUTANTS.flatMap((mutant) => ('edits' in mutant ? Object.values(mutant.edits) : []))
    const texts = edits.filter((edit) => typeof edit === 'string')
    const words = texts.flatMap(
      (text) =>
        text
          .replaceAll(REFERENCE, '')
          .replaceAll(/'[^']*'/g, '')
          .match(/\b[a-zA-Z_]\w*/g) ?? [],
    )
    expect(words.filter((word) => !LANGUAGE.test(word) && !FIELD.test(word))).toEqual([])
  })

  test('makes the same change after every name in the program has changed', () => {
    const program = new Map([...sources].map(([file, source]) => [file, renamed(source)]))
    const others = MUTANTS.filter(
      (mutant) =>
        mutatedIn(program, mutant).source.replaceAll(SUFFIX, '') !== mutatedIn(sources, mutant).source,
    )
    expect(others.map(({ name }) => name)).toEqual([])
  })

  test('finds its place after every file has moved to another folder', () => {
    const moved = new Map([...sources].map(([file, source]) => [`elsewhere/${file}`, source]))
    for (const mutant of MUTANTS) {
      const { file, source } = mutatedIn(sources, mutant)
      expect(mutatedIn(moved, mutant)).toEqual({ file: `elsewhere/${file}`, source })
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

  test('is refused if the code at its place has changed', () => {
    const mutant = MUTANTS.find(({ name }) => name === NOTICED) as Mutant
    const { file, source } = mutatedIn(sources, mutant)
    const program = new Map([...sources, [file, source]])
    expect(() => mutatedIn(program, mutant)).toThrow(/has changed at .* correct the address/)
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
