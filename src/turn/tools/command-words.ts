/**
 * The words of a command line for /bin/sh, to match it with a pattern of `--allow`.
 *
 * Invariant: a result means that the shell runs exactly one simple command with exactly these words. Every construct that
 * could run, read or write anything else, or change the words, gives undefined.
 */

/** Ends or redirects a command, starts another, or expands to words that are not known here. */
const SPECIAL = new Set([...';&|<>(){}$`*?[]~#!^\n\r\0'])
const BLANK = new Set([' ', '\t'])
/** Other white space may separate words in some shells and locales. */
const STRANGE = /[^\S \t]|\p{Cc}/u
/** In a locale with GBK or Big5, bash reads a backslash after such a character as its second byte, not as an escape. */
const MAY_TAKE_BACKSLASH = /[\u0080-\uffff]\\/
/** An assignment before the command changes the environment in which it runs. bash also has `+=`. */
const ASSIGNMENT = /^\w+\+?=/
/** Within double quotes, a backslash quotes only these. */
const QUOTED_BY_BACKSLASH = new Set(['$', '`', '"', '\\'])

export function wordsOf(text: string): string[] | undefined {
  if (MAY_TAKE_BACKSLASH.test(text)) return undefined
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (BLANK.has(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === "'") {
      const end = text.indexOf("'", at + 1)
      if (end < 0) return undefined
      word = (word ?? '') + text.slice(at + 1, end)
      at = end
    } else if (character === '"') {
      const quoted = doubleQuoted(text, at + 1)
      if (quoted === undefined) return undefined
      word = (word ?? '') + quoted.text
      at = quoted.end
    } else if (character === '\\') {
      const next = text[++at]
      if (next === undefined || STRANGE.test(next)) return undefined
      word = (word ?? '') + next
    } else if (SPECIAL.has(character) || STRANGE.test(character)) return undefined
    else word = (word ?? '') + character
  }
  if (word !== undefined) words.push(word)
  const [first] = words
  const isCommand =
    first !== undefined && !ASSIGNMENT.test(first) && !words.some((each) => each.includes('\0'))
  return isCommand ? words : undefined
}

/** The text up to the closing quote, and the place of that quote. */
function doubleQuoted(text: string, from: number): { text: string; end: number } | undefined {
  let inside = ''
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string
    if (character === '"') return { text: inside, end: at }
    if (character === '$' || character === '`') return undefined
    if (character !== '\\') inside += character
    else {
      const next = text[at + 1]
      // A backslash before a line break removes both.
      if (next === undefined || next === '\n') return undefined
      inside += QUOTED_BY_BACKSLASH.has(next) ? next : `\\${next}`
      at++
    }
  }
  return undefined
}

export interface CommandPattern {
  words: string[]
  /** The last word is only the beginning of a word, or absent; any words may follow. */
  isPrefix: boolean
}

/** Undefined if the text is not a command, or has a `*` elsewhere than at its end. */
export function patternOf(text: string): CommandPattern | undefined {
  const isPrefix = text.endsWith('*')
  const fixed = isPrefix ? text.slice(0, -1) : text
  const words = wordsOf(fixed)
  if (words === undefined) return undefined
  // `npm test *` needs another word; `npm test*` also matches the words `npm tests`.
  return { words: isPrefix && /[ \t]$/.test(fixed) ? [...words, ''] : words, isPrefix }
}

export function matchesCommand({ words, isPrefix }: CommandPattern, command: string): boolean {
  const given = wordsOf(command)
  if (given === undefined || given.length < words.length) return false
  if (!isPrefix) return given.length === words.length && words.every((word, at) => word === given[at])
  const last = words.length - 1
  return words.every((word, at) => (at === last ? given[at]?.startsWith(word) : word === given[at]))
}
