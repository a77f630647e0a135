/**
 * Each sync left out in turn: where a rule needs it the survey must find what breaks, and where none does it must find
 * nothing. So the survey is known to be able to fail.
 */
import type { Scenario } from '../scenarios/scenario.js'
import type { Desk } from './desk.js'

import { type FoundViolation, survey } from './survey.js'

/** Syncs that none of these commands comes to harm without, and why. */
export const HARMLESS: Record<string, string> = {
  'snapshot.fsync': 'a cache of the log: one that does not check is made again (rule 10)',
  'aside.snapshot.fsync': 'a cache of the log: one that does not check is made again (rule 10)',
  'aside.log.sync_directory': 'the same directory is synced once more before anything is told',
  'boot.fsync': 'after a power cut it is of another start of the kernel anyhow (rule 10)',
  'names.sync_directory': 'an index that does not say that it is complete is made again (rule 10)',
  'cut.fsync': 'a copy for a person, of bytes that nobody was told of',
  'cut.sync_directory': 'a copy for a person, of bytes that nobody was told of',
  'home.create.sync_directory': 'the same directory is synced once more before anything is told',
}

export interface Dropped {
  point: string
  /** Commands of the list that have it, and states that there are without it alone. */
  scenarios: number
  states: number
  /** The first thing that breaks. */
  found: FoundViolation | undefined
}

/** What breaks in a scenario where that sync does nothing: undefined where nothing does. */
export async function violationWithout(
  desk: Desk,
  scenario: Scenario,
  point: string,
  options: { seed: number; every: number },
): Promise<{ states: number; found: FoundViolation | undefined }> {
  const ignores = (name: string): boolean => name === point
  const bounds = { sample: 0, nestedEvery: 0, nestedSample: 0, stopsEarly: true }
  const { states, violations } = await survey(desk, scenario, { ...options, ...bounds, ignores })
  return { states, found: violations[0] }
}

/** Goes through the scenarios that have that sync until one of them breaks. */
export async function dropped(
  desk: Desk,
  scenarios: Scenario[],
  point: string,
  options: { seed: number; every: number },
): Promise<Dropped> {
  let states = 0
  for (const [index, scenario] of scenarios.entries()) {
    const { states: tried, found } = await violationWithout(desk, scenario, point, options)
    states += tried
    if (found !== undefined) return { point, scenarios: index + 1, states, found }
  }
  return { point, scenarios: scenarios.length, states, found: undefined }
}

/** Where the commands sync, and which of them. */
export async function syncPointsOf(
  desk: Desk,
  scenarios: Scenario[],
  seed: number,
): Promise<Map<string, Scenario[]>> {
  const points = new Map<string, Scenario[]>()
  for (const scenario of scenarios) {
    const bounds = { sample: 0, every: Number.MAX_SAFE_INTEGER, nestedEvery: 0, nestedSample: 0 }
    const { syncPoints } = await survey(desk, scenario, { seed, ...bounds })
    for (const point of syncPoints) points.set(point, [...(points.get(point) ?? []), scenario])
  }
  return points
}
