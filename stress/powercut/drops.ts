/**
 * Leaves out each sync in turn. If a rule needs the sync, the survey must find a violation; if none does, it must find
 * none. This shows that the survey can fail.
 */
import type { Scenario } from '../scenarios/scenario.js'
import type { Desk } from './desk.js'

import { type FoundViolation, survey } from './survey.js'

/** Syncs that none of these commands needs, with the reason. */
export const HARMLESS: Record<string, string> = {
  'snapshot.fsync': 'a cache of the log: if its check fails, it is rebuilt (rule 10)',
  'aside.snapshot.fsync': 'a cache of the log: if its check fails, it is rebuilt (rule 10)',
  'aside.log.sync_directory': 'the same directory is synced again before anything is acknowledged',
  'tick.fsync': 'a lost tick only delays a notice',
  'boot.fsync': 'after a power cut its boot id is out of date in any case (rule 10)',
  'names.sync_directory': 'an index without its completeness mark is rebuilt (rule 10)',
  'cut.fsync': 'a copy for the user, of bytes that were never acknowledged',
  'cut.sync_directory': 'a copy for the user, of bytes that were never acknowledged',
  'home.create.sync_directory': 'the same directory is synced again before anything is acknowledged',
}

export interface Dropped {
  point: string
  /** The number of listed commands that have the sync, and of the additional states without it. */
  scenarios: number
  states: number
  /** The first violation. */
  found: FoundViolation | undefined
}

/** The first violation of a scenario without that sync; undefined if there is none. */
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

/** Tries the scenarios that have the sync until one of them fails. */
export async function dropSync(
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

/** The sync points of the commands, with their scenarios. */
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
