/** The kills of a program: every mode in every phase that it can reach, in an order from the seed, repeatedly. */
import { Random } from '../../../test/support/random.js'
import type { RealProgram } from '../program.js'
import { PHASES, type Phase } from './job.js'
import { MODES, type Mode } from './modes.js'

export interface Choice {
  kills: number
  seed: number
  modes: string[]
  phases: string[]
  /** Only the kills with these numbers. */
  range: { from: number; to: number } | undefined
}

interface Planned {
  number: number
  mode: Mode
  phase: Phase
}

export function planOf(program: RealProgram, { kills, seed, modes, phases, range }: Choice): Planned[] {
  const cells = MODES.filter(({ name }) => modes.includes(name)).flatMap((mode) =>
    PHASES.filter((phase) => phases.includes(phase) && canReach(program, phase)).map((phase) => ({
      mode,
      phase,
    })),
  )
  const random = new Random(seed)
  const shuffled = cells
    .map((cell) => ({ cell, place: random.next() }))
    .sort((one, other) => one.place - other.place)
  const all = Array.from({ length: kills }, (_, index) => ({
    number: index,
    ...(shuffled[index % shuffled.length] as (typeof shuffled)[number]).cell,
  }))
  return range === undefined ? all : all.slice(range.from, range.to + 1)
}

function canReach({ cannot }: RealProgram, phase: Phase): boolean {
  return phase !== 'permission' || cannot?.permission === undefined
}
