/**
 * The places where agents may live. The sequence decides which of them do.
 *
 * Invariants: children of a root or of a q are named x and y; children of an x are named p and q. An agent named p or y
 * has no children, and no parent or sibling with either name. Waits for p and y therefore never form a ring.
 */
import { Random } from '../../test/support/random.js'

export type Place = string

export const PLACES: readonly Place[] = ['a', 'b', 'a/x', 'a/y', 'b/x', 'a/x/p', 'a/x/q']

/** The default depth limit of a tree. */
const LEVELS_MAX = 6
const BELOW: Record<string, string[]> = { x: ['p', 'q'], y: [], p: [], q: ['x', 'y'] }
const ROOTS_SHARE = 0.15

/** A random tree of that many agents, parents before their children. Without a number: the fixed tree of seven. */
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
    if (place.split('/').length < LEVELS_MAX) free.push(...childPlaces(place))
  }
  return places
}

function childPlaces(place: Place): Place[] {
  const name = place.split('/').at(-1) as string
  const names = place.includes('/') ? (BELOW[name] ?? []) : ['x', 'y']
  return names.map((each) => `${place}/${each}`)
}
