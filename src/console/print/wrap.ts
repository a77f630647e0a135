/** Breaks text into lines of a terminal. */
import { displayWidth } from './width.js'

/** Lines of at most `columns` columns, broken between words if possible. The first line keeps its indent. */
export function* wrapped(line: string, columns: number): Generator<string> {
  let current = ''
  for (const [word] of line.matchAll(/\s+|\S+/g)) {
    if (displayWidth(current + word) <= columns) {
      current += word
      continue
    }
    let rest = word
    const room = columns - displayWidth(current)
    // Text without spaces, such as Chinese, that needs several lines anyway begins in this one.
    if (room >= ROOM_COLUMNS_MIN && current.trim() !== '' && isWiderThan(word, columns)) {
      const piece = beginningOf(word, room)
      current += piece
      rest = word.slice(piece.length)
    }
    if (current.trim() !== '') yield current.trimEnd()
    current = ''
    if (word.trim() === '') continue
    while (isWiderThan(rest, columns)) {
      const piece = beginningOf(rest, columns)
      yield piece
      rest = rest.slice(piece.length)
    }
    current = rest
  }
  yield current.trimEnd()
}

/** Fewer columns at the end of a line stay empty. */
const ROOM_COLUMNS_MIN = 8

function isWiderThan(word: string, columns: number): boolean {
  return displayWidth(word.slice(0, columns + 1)) > columns
}

/** The longest beginning that fits, at least one character. */
function beginningOf(word: string, columns: number): string {
  let [piece, used] = ['', 0]
  // No character that a person sees has more code units than this.
  for (const { segment } of new Intl.Segmenter().segment(word.slice(0, columns * 16))) {
    used += displayWidth(segment)
    if (used > columns && piece !== '') return piece
    piece += segment
  }
  return piece
}
