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
  for (const [column, cell] of cells.entries()) {
    // A cell is at most as wide as its number of code units. Most cells need no exact count.
    if (cell.length > (widths[column] as number))
      widths[column] = Math.max(widths[column] as number, widthOf(cell))
  }
}

function lineOf(cells: string[], widths: number[]): string {
  const last = cells.length - 1
  const padded = cells.map((cell, column) =>
    column === last ? cell : cell + ' '.repeat((widths[column] as number) - widthOf(cell)),
  )
  return padded.join('  ').trimEnd()
}

/** Counts code points. A terminal may draw a wide character (CJK, emoji) in two columns; this counts it as one. */
function widthOf(cell: string): number {
  return SURROGATE.test(cell) ? [...cell].length : cell.length
}

const SURROGATE = /[\ud800-\udfff]/
