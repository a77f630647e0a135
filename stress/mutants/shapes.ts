/**
 * Reads and extends shapes.tsv: a line for each mutant, with the shapes of the code that it addresses, and one line for all
 * mutants of a step.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../support/lab.js'
import { type Mutant, shapesFor } from './mutant.js'
import { type Shapes, sourcesIn } from './place.js'

const FILE = join(repository, 'stress', 'mutants', 'shapes.tsv')

let known: Map<string, Shapes> | undefined

export function shapesOf(mutant: Mutant): Shapes {
  known ??= readShapes()
  return known.get(keyOf(mutant)) ?? {}
}

function keyOf(mutant: Mutant): string {
  return 'step' in mutant ? 'a step' : mutant.name
}

function readShapes(): Map<string, Shapes> {
  const lines = readFileSync(FILE, 'utf8').split('\n').filter(Boolean)
  return new Map(
    lines.map((line) => {
      const [name = '', ...fields] = line.split('\t')
      return [name, Object.fromEntries(fields.map((field) => field.split('=')))]
    }),
  )
}

/** Adds the shapes that the file does not have yet. */
export function learnAll(mutants: Mutant[]): void {
  const sources = sourcesIn(repository)
  const lines = mutants.map((mutant) => {
    const shapes = Object.entries(shapesFor(sources, mutant, shapesOf(mutant)))
    return [keyOf(mutant), ...shapes.map(([address, shape]) => `${address}=${shape}`)].join('\t')
  })
  writeFileSync(FILE, `${[...new Set(lines)].join('\n')}\n`)
}
