/** Suggests the word that the user probably meant. */
import { distance, closest as nearest } from 'fastest-levenshtein'

/** The most similar of `words`. Undefined if more than a third of the word would have to change. */
export function closest(word: string, words: string[]): string | undefined {
  if (words.length === 0) return undefined
  const found = nearest(word, words)
  return distance(word, found) <= Math.max(1, Math.floor(word.length / 3)) ? found : undefined
}
