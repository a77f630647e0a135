/** Splits an option with several words: a command and its arguments, or additional arguments. */
import { failure } from '../failure.js'

const WORD = /\s*((?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+)/y
const PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|[^\s'"\\]+/g

/** Splits words as a shell does, with its quotes and backslashes but no other syntax. */
export function wordsOf(option: string, text: string): string[] {
  const words: string[] = []
  const rest = text.trimEnd()
  for (let at = 0; at < rest.length; at = WORD.lastIndex) {
    WORD.lastIndex = at
    const word = WORD.exec(rest)?.[1]
    if (word === undefined)
      throw failure('misconfigured', `the option ${option} has an unclosed quote: ${text}`)
    words.push(word.replace(PART, unquotedPart))
  }
  return words
}

function unquotedPart(part: string, single?: string, double?: string, escaped?: string): string {
  return single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? part
}
