/** A mutant is the program with one barrier, check or order taken out. It names no line of the source. */
import { addressesIn, applyEdits, type Edits } from './change.js'
import { finder, findUnit, learnShapes, type Shapes, type Sources } from './place.js'

interface Defect {
  /** The defect, as a sentence. */
  name: string
  /**
   * Test files that must notice it, without `test/` and `.test.ts`, cheapest first. Words after a `#` choose tests by their
   * title, if one test is enough and the others are slow.
   */
  suites: string[]
  /** Why no test can notice it. It runs too, and must pass unnoticed. */
  equivalent?: string
}

/** Leaves out a step on the disk. */
interface StepMutant extends Defect {
  /** Its fault point, such as `log.sync`. */
  step: string
  /** Instead, the program dies before the step, or before one of its parts, in this share of the times. */
  dies?: number
}

/** Edits a function, a method or a constant. */
export interface CodeMutant extends Defect {
  /** `FILE UNIT`, as in `storage/log/log.ts LogWriter.append`; the file is in src/. */
  place: string
  edits: Edits
}

export type Mutant = StepMutant | CodeMutant

/** The changed file of src/. Throws if the code at the mutant's place is gone or has another shape. */
export function mutate(sources: Sources, mutant: Mutant, shapes: Shapes): { file: string; source: string } {
  const { place, edits } = codeOf(mutant)
  try {
    const { file, source, unit } = findUnit(sources, place, shapes)
    return { file, source: applyEdits(source, unit.root, edits, finder(sources, place, shapes)) }
  } catch (error) {
    throw new Error(`the mutant "${mutant.name}": ${(error as Error).message}`)
  }
}

/** The shapes of all code that the mutant addresses. */
export function shapesFor(sources: Sources, mutant: Mutant, known: Shapes): Shapes {
  const { place, edits } = codeOf(mutant)
  return learnShapes(sources, place, addressesIn(edits), known)
}

function codeOf(mutant: Mutant): { place: string; edits: Edits } {
  if ('place' in mutant) return mutant
  const { step, dies } = mutant
  // Every step on the disk goes through `attempt`.
  const point = `@call:1.arguments.0.object.@{host/disk/io.ts sizeOf|property:1.key}`
  const chosen =
    dies === undefined
      ? `${point} === '${step}'`
      : `${point}.startsWith('${step}') && Math.random() < ${dies}`
  const act = dies === undefined ? 'return undefined as never' : "process.kill(process.pid, 'SIGKILL')"
  return {
    place: 'host/disk/operation.ts attempt',
    edits: { 'expression:1': `if (${chosen}) ${act}\n@self` },
  }
}
