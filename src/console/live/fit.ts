/** Fits text into the columns of a terminal. */
import width from 'string-width'
import { oneLine } from '../output.js'

export { width }

/** Text from outside, as one line of at most `columns` columns. */
export function fitted(text: string, columns: number, ellipsis: string): string {
  const line = oneLine(text).trim()
  if (width(line) <= columns) return line
  const room = columns - width(ellipsis)
  if (room <= 0) return ellipsis.slice(0, Math.max(0, columns))
  let [kept, used] = ['', 0]
  for (const { segment } of segments(line)) {
    used += width(segment)
    if (used > room) break
    kept += segment
  }
  return `${kept.trimEnd()}${ellipsis}`
}

/** Characters as a person counts them: a letter with its accents, or an emoji of several code points. */
function segments(text: string): Iterable<{ segment: string }> {
  return new Intl.Segmenter().segment(text)
}

/**
 * The column of the cursor after this text, which began in the first column. Undefined if it is not certain: after a character
 * that terminals show in different widths, or when the line is full.
 */
export function columnAfter(text: string, columns: number): number | undefined {
  if (!PLAIN.test(text)) return undefined
  let column = 0
  for (const character of text) {
    if (character === '\t') {
      column = Math.min(columns - 1, column - (column % 8) + 8)
      continue
    }
    const wide = width(character)
    if (column + wide > columns) column = 0
    column += wide
  }
  return column === columns ? undefined : column
}

/** Letters of ASCII, Latin, Greek and Cyrillic, typographic punctuation, and the wide letters of East Asia. */
const PLAIN =
  /^[\t\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u037a-\u0482\u048a-\u052f\u2010-\u2027\u3001-\u3029\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]*$/
