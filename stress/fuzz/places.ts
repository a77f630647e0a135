/**
 * The places that agents may live at; which of them do is for the sequence to make.
 *
 * Invariants: below a root and below a q live x and y, below an x live p and q. So a y and a p have nobody below them, and
 * are neither siblings nor parents of one another: who waits for one of them is never waited for by it.
 */
import { Random } from '../tree/random.js'

export type Place = string

export const PLACES: readonly Place[] = ['a', 'b', 'a/x', 'a/y', 'b/x', 'a/x/p', 'a/x/q']

/** As deep as a tree may be by the settings as they come. */
const LEVELS_MAX = 6
const BELOW: Record<string, string[]> = { x: ['p', 'q'], y: [], p: [], q: ['x', 'y'] }
const ROOTS_SHARE = 0.15

/** A random tree of so many, parents before their children; the usual seven where no number is given. */
export function placesOf(agents: number | undefined, seed: number): readonly Place[] {
  if (agents === undefined) return PLACES
  const random = new Random(seed)
  const places: Place[] = []
  const free: Place[] = []
  let roots = 0
  while (places.length < agents) {
    const isRoot = free.length === 0 || random.chance(ROOTS_SHARE)
    const place = isRoot ? `a${roots++}` : (free.splice(random.below(free.length), 1)[0] as Place)
    places.push(place)
    if (place.split('/').length < LEVELS_MAX) free.push(...below(place))
  }
  return places
}

function below(place: Place): Place[] {
  const name = place.split('/').at(-1) as string
  const names = place.includes('/') ? (BELOW[name] ?? []) : ['x', 'y']
  return names.map((each) => `${place}/${each}`)
}
