/** Long lines at a terminal: broken between words, with the next lines below the beginning of the text. */
import process from 'node:process'
import { stdout } from '../stdio.js'
import { displayWidth } from './width.js'
import { wrapped } from './wrap.js'

/** Less room for the text breaks every word. */
const TEXT_COLUMNS_MIN = 20

/** `indentOf`: where the text of a line begins. Undefined leaves the line whole: it is a command that a person copies. */
export function hanging(
  text: string,
  columns: number,
  indentOf: (line: string) => number | undefined,
): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const indent = indentOf(line)
      if (indent === undefined || displayWidth(line) <= columns) return [line]
      if (columns - indent < TEXT_COLUMNS_MIN) return [line]
      const [first = '', ...more] = wrapped(line.slice(indent), columns - indent)
      return [line.slice(0, indent) + first, ...more.map((rest) => ' '.repeat(indent) + rest)]
    })
    .join('\n')
}

/** Undefined if stdout is not a terminal. */
export function terminalColumns(): number | undefined {
  return stdout.isTTY && process.env.TERM !== 'dumb' ? columnsOf(stdout) : undefined
}

/** A terminal that does not know its size has 0 columns. */
export function columnsOf({ columns }: { columns?: number }): number {
  return columns || 80
}
