/**
 * A text table. Each column is as wide as its widest cell; the last one is not padded. Each row is computed twice, because
 * storing the cells of many thousand rows is slower and takes half the memory of the command.
 */
export function table<T>(head: string[], items: readonly T[], cellsOf: (item: T) => string[]): string {
  const widths = head.map(widthOf)
  for (const item of items) widen(widths, cellsOf(item))
  const lines = [lineOf(head, widths)]
  for (const item of items) lines.push(lineOf(cellsOf(item), widths))
  return lines.join('\n')
}

function widen(widths: number[], cells: string[]): void {
  for (let column = 0; column < cells.length; column++) {
    const [cell, width] = [cells[column] as string, widths[column] as number]
    // A cell is at most as wide as its number of code units. Most cells need no exact count.
    if (cell.length > width) widths[column] = Math.max(width, widthOf(cell))
  }
}

function lineOf(cells: string[], widths: number[]): string {
  let line = ''
  for (let column = 0; column < cells.length - 1; column++)
    line += padded(cells[column] as string, widths[column] as number)
  return (line + cells[cells.length - 1]).trimEnd()
}

/** The cell with the space behind its column. */
function padded(cell: string, width: number): string {
  return cell.padEnd(width + 2 + cell.length - widthOf(cell))
}

/** Counts code points. A terminal may draw a wide character (CJK, emoji) in two columns; this counts it as one. */
function widthOf(cell: string): number {
  return SURROGATE.test(cell) ? [...cell].length : cell.length
}

const SURROGATE = /[\ud800-\udfff]/
