/** Suggests the word that the user probably meant. */
import { closest, distance } from 'fastest-levenshtein'

/** `; did you mean notes?`. Empty if no word is similar: at most a third of its letters may differ. */
export function suggestion(word: string, words: string[]): string {
  if (words.length === 0) return ''
  const found = words.find((other) => lettersOf(other) === lettersOf(word)) ?? closest(word, words)
  return distance(word, found) <= Math.ceil(word.length / 3) ? `; did you mean ${found}?` : ''
}

/** The same for words with two letters swapped, the most common slip, which edit distance counts twice. */
function lettersOf(word: string): string {
  return [...word].sort().join('')
}
