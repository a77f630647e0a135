/** Summarizes the outcomes of the kills by program, for stress/results/real-kills.json. */
import type { Kill } from './one-kill.js'

export interface Summary {
  program: string
  kills: number
  continued: number
  done_once: number
  violations: number
  /** For each mode, the number of kills in each phase. */
  kills_by_mode_and_phase: Record<string, Record<string, number>>
}

export function summariesOf(kills: Kill[]): Summary[] {
  const names = [...new Set(kills.map(({ program }) => program))]
  return names.map((program) =>
    summaryOf(
      program,
      kills.filter((kill) => kill.program === program),
    ),
  )
}

function summaryOf(program: string, kills: Kill[]): Summary {
  const cells: Summary['kills_by_mode_and_phase'] = {}
  for (const { mode, phase } of kills) {
    const cell = cells[mode] ?? {}
    cells[mode] = { ...cell, [phase]: (cell[phase] ?? 0) + 1 }
  }
  return {
    program,
    kills: kills.length,
    continued: kills.filter(({ isContinued }) => isContinued).length,
    done_once: kills.filter(({ timesDone }) => timesDone === 1).length,
    violations: kills.filter(({ violations }) => violations.length > 0).length,
    kills_by_mode_and_phase: cells,
  }
}
