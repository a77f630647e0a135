/** An option that has several words: a command and its arguments, or arguments to add. */
import { failure } from '../failure.js'

const WORD = /\s*((?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+)/y
const PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|[^\s'"\\]+/g

/** Words as a shell would take them, with its quotes and backslashes, and nothing else of it. */
export function wordsOf(option: string, text: string): string[] {
  const words: string[] = []
  const rest = text.trimEnd()
  for (let at = 0; at < rest.length; at = WORD.lastIndex) {
    WORD.lastIndex = at
    const word = WORD.exec(rest)?.[1]
    if (word === undefined)
      throw failure('misconfigured', `the option ${option} has a quote without its end: ${text}`)
    words.push(word.replace(PART, unquotedPart))
  }
  return words
}

function unquotedPart(part: string, single?: string, double?: string, escaped?: string): string {
  return single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? part
}
