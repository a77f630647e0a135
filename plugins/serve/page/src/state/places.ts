/**
 * Where the reader was in each view. A new view begins at its top; one that the reader goes back to is where it was. The browser
 * cannot do this: a view is drawn after the address has changed.
 */

interface Mark {
  entry: number
}

/** By the entry of the history. */
const places = new Map<number, number>()
let entry = markOf() ?? mark(Date.now())
let wanted = 0

history.scrollRestoration = 'manual'

function markOf(): number | undefined {
  return (history.state as Mark | null)?.entry
}

function mark(entry: number): number {
  history.replaceState({ entry } satisfies Mark, '')
  return entry
}

/** Before the new view is drawn. */
export function leavePlace(): void {
  const known = markOf()
  if (known === entry) return
  places.set(entry, scrollY)
  entry = known ?? mark(Math.max(Date.now(), entry + 1))
  wanted = places.get(entry) ?? 0
  scrollTo(0, 0)
}

/** After the new view is drawn. A view that comes later, or follows its end, begins where it likes. */
export function findPlace(): void {
  if (wanted > 0) scrollTo(0, wanted)
}
