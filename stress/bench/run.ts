/** One run of the benchmarks: its options, and the points of the plot. */
import type { Lab } from '../support/lab.js'
import type { Point } from './plot.js'

export interface Run {
  lab: Lab
  rounds: number
  /** The maximum number of agents in a home, and of records in a log. */
  agents: number
  records: number
  points: { log: Point[]; home: Point[] }
}

/** For subjects that take seconds each time. */
export function fewRounds({ rounds }: Run): number {
  return Math.min(rounds, 7)
}

/** 10, 100 and so on, up to and including `most`. */
export function decadesTo(most: number): number[] {
  const decades: number[] = []
  for (let decade = 10; decade < most; decade *= 10) decades.push(decade)
  return [...decades, most]
}
