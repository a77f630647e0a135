/** A mutant: the program with one barrier, check or order taken out, in one place of one source file. */

export interface Mutant {
  /** What is broken, as a sentence. */
  name: string
  /** In src/. */
  file: string
  /** The one place, and what stands there instead. */
  from: string
  to: string
  /**
   * The test files that are to notice, without `test/` and `.test.ts`; those that cost little first. Behind a `#` stands what
   * the titles of the tests must have, where one of them is enough and the others cost much.
   */
  suites: string[]
  /** Why nobody can notice: then it is tried no less, and must not be noticed. */
  equivalent?: string
}

/** Throws where the place is not there, or not once: then the mutant has to follow the program. */
export function mutated(source: string, { name, file, from, to }: Mutant): string {
  const parts = source.split(from)
  if (parts.length !== 2)
    throw new Error(`the mutant "${name}" finds its place in src/${file} ${parts.length - 1} times`)
  return parts.join(to)
}
