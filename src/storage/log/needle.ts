/**
 * Finds a text in the bytes of logs and blobs, before any line is parsed. A log has it as JSON writes it, a blob as it is or as
 * JSON. A hit may be the name of a field, so the caller parses the line and looks again.
 */
import type { Needle } from '../parts.js'

export interface Finder {
  /** A match is at most this long. */
  readonly bytesMax: number
  /** The place of the first match at or after `from`; -1 if there is none. */
  find(bytes: Buffer, from: number): number
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII
const ASCII = /^[\x00-\x7f]*$/

export function finderOf({ text, ignoresCase }: Needle): Finder {
  const forms = [...new Set([JSON.stringify(text).slice(1, -1), text])]
  // A character has at most 12 bytes, as a pair of JSON escapes.
  const bytesMax = text.length * 12
  const foldsCase = ignoresCase && /\p{L}/u.test(text)
  if (forms.length === 1 && !foldsCase && ASCII.test(text)) {
    const wanted = Buffer.from(text)
    return { bytesMax, find: (bytes, from) => bytes.indexOf(wanted, from) }
  }
  const sources = forms.map((form) => [...form].map((each) => bytesOf(each, foldsCase)).join(''))
  const expression = new RegExp(sources.join('|'), foldsCase ? 'gi' : 'g')
  let [last, latin1]: [Buffer | undefined, string] = [undefined, '']
  return {
    bytesMax,
    find(bytes, from) {
      // One character for each byte. The `i` of the expression then also folds bytes of other characters, which finds more.
      if (bytes !== last) [last, latin1] = [bytes, bytes.toString('latin1')]
      expression.lastIndex = from
      return expression.exec(latin1)?.index ?? -1
    },
  }
}

/** A regular expression for the bytes of a character: in UTF-8, or escaped by a JSON encoder that writes only ASCII. */
function bytesOf(character: string, foldsCase: boolean): string {
  if (ASCII.test(character)) return character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const upper = character.toUpperCase()
  const cases = foldsCase ? [character, upper, upper.toLowerCase(), character.toLowerCase()] : [character]
  const forms = new Set(cases.flatMap((each) => [utf8(each), escaped(each)]))
  return `(?:${[...forms].join('|')})`
}

function utf8(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16)}`).join('')
}

function escaped(text: string): string {
  return Array.from({ length: text.length }, (_, index) => {
    const code = text.charCodeAt(index).toString(16).padStart(4, '0')
    return `\\\\u${code.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`
  }).join('')
}
