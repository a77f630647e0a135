/**
 * Suggests the word that the user probably meant. The libraries for this allocate their tables at import, which costs
 * every start about a millisecond, so the distance is computed here.
 */

/** `; did you mean notes?`. Empty if no word is similar: at most a third of its letters may differ. */
export function suggestion(word: string, words: string[]): string {
  const best = closest(word, words)
  return best === undefined ? '' : `; did you mean ${best}?`
}

/** Undefined if no word is similar. */
export function closest(word: string, words: string[]): string | undefined {
  const max = Math.ceil(word.length / 3)
  // The distance is at least the difference in length. So even a huge word is compared only with similar ones.
  const [best] = words
    .filter((other) => Math.abs(other.length - word.length) <= max)
    .map((other) => ({ other, distance: distanceBetween(word, other) }))
    .sort((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= max ? best.other : undefined
}

/** Letters to insert, delete, replace or swap with a neighbour: the optimal string alignment distance. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? at(beforeLast, j - 2) + 1 : replaced
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1))
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

function at(row: number[], index: number): number {
  return row[index] as number
}
