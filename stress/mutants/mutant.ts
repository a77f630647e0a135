/** A mutant is the program with one barrier, check or order taken out. It says by its text which code that is. */
import { type Found, findCode, type Sources, withRenames } from './code.js'

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

/** Code of one file of src/, and the code that replaces it. `;` leaves a statement out. */
export type Edit = [code: string, replacement: string]

interface CodeMutant extends Defect {
  edits: Edit[]
}

export type Mutant = StepMutant | CodeMutant

/** The changed file of src/. Throws if the code of an edit is not in exactly one place. */
export function mutate(sources: Sources, mutant: Mutant): { file: string; source: string } {
  try {
    const edits = editsOf(mutant).map(([code, replacement]) => ({ ...findCode(sources, code), replacement }))
    const [file, other] = new Set(edits.map((edit) => edit.file))
    if (file === undefined || other !== undefined) throw new Error('its edits are not in one file')
    const renames = new Map(edits.flatMap((edit) => [...edit.renames]))
    return { file, source: edited(sources.get(file) as string, edits, renames) }
  } catch (error) {
    throw new Error(`the mutant "${mutant.name}": ${(error as Error).message}`)
  }
}

export function editsOf(mutant: Mutant): Edit[] {
  if ('edits' in mutant) return mutant.edits
  const { step, dies } = mutant
  const chosen =
    dies === undefined
      ? `operation.point === '${step}'`
      : `operation.point.startsWith('${step}') && Math.random() < ${dies}`
  const act = dies === undefined ? 'return undefined as never' : "process.kill(process.pid, 'SIGKILL')"
  return [[EVERY_STEP, `if (${chosen}) ${act}\n${EVERY_STEP}`]]
}

/** Each step on the disk passes it. */
const EVERY_STEP = 'confinement.refuseLinksTo(operation.path)'

type Placed = Found & { replacement: string }

function edited(source: string, edits: Placed[], renames: Found['renames']): string {
  const last = [...edits].sort((a, b) => b.start - a.start)
  return last.reduce((text, { start, end, replacement }, index) => {
    if (end > (last[index - 1]?.start ?? text.length)) throw new Error('one edit is in another')
    return text.slice(0, start) + withRenames(replacement, renames) + text.slice(end)
  }, source)
}
