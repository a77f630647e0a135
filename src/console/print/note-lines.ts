/** A line for a person on stderr, in the rows that a terminal needs for it: broken between words, and never in a command. */
import { displayWidth } from './width.js'

/**
 * Spaces, words, and whole commands: a person copies a command, which a line break would cut in two. A command ends where its
 * sentence does: at one of `;,()` outside quotes. The signs there stay with it.
 */
const PIECES =
  /\s+|(?<![\w-])\(?(?:substrat(?= (?!(?:that|is|was|has|cannot|will|did|does|itself|reads|and|or)\b)[a-z-])|chmod|export|kill|mv|npm|sudo|unset)(?: (?:'[^']*'|"[^"]*"|[^\s;,()'"]+)+)+[;,.)]*|\S+/g

/** The text in lines of that many columns. Only a piece that is wider alone has a longer line, which the terminal breaks. */
export function noteLines(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => (displayWidth(line) <= columns ? [line] : brokenLine(line, columns)))
    .join('\n')
}

function brokenLine(line: string, columns: number): string[] {
  const lines = ['']
  for (const [piece] of line.matchAll(PIECES)) {
    const current = lines.at(-1) as string
    if (piece.trim() === '' || current.trim() === '' || displayWidth(current + piece) <= columns)
      lines[lines.length - 1] = current + piece
    else lines.push(piece)
  }
  const last = lines.length - 1
  // The last line may be a question, whose answer follows its space.
  return lines.map((each, index) => (index === last ? each : each.trimEnd()))
}
