/**
 * A text table. Each column is as wide as its widest cell; the last one is not padded. Each row is computed twice, because
 * storing the cells of many thousand rows is slower and takes half the memory of the command.
 */
export function table<T>(
  head: string[],
  items: readonly T[],
  cellsOf: (item: T) => string[],
  widthOf = countOf,
): string {
  const widths = head.map(widthOf)
  for (const item of items) widen(widths, cellsOf(item), widthOf)
  const lines = [lineOf(head, widths, widthOf)]
  for (const item of items) lines.push(lineOf(cellsOf(item), widths, widthOf))
  return lines.join('\n')
}

type WidthOf = (cell: string) => number

function widen(widths: number[], cells: string[], widthOf: WidthOf): void {
  for (let column = 0; column < cells.length; column++) {
    const [cell, width] = [cells[column] as string, widths[column] as number]
    // A code unit is at most two columns wide. Most cells need no exact count.
    const widest = widthOf === countOf ? cell.length : 2 * cell.length
    if (widest > width) widths[column] = Math.max(width, widthOf(cell))
  }
}

function lineOf(cells: string[], widths: number[], widthOf: WidthOf): string {
  let line = ''
  for (let column = 0; column < cells.length - 1; column++) {
    const cell = cells[column] as string
    // With the space behind its column.
    line += cell.padEnd((widths[column] as number) + 2 + cell.length - widthOf(cell))
  }
  return (line + cells[cells.length - 1]).trimEnd()
}

/** Code points. A terminal may draw a wide character (CJK, emoji) in two columns; this counts it as one. */
function countOf(cell: string): number {
  return SURROGATE.test(cell) ? [...cell].length : cell.length
}

const SURROGATE = /[\ud800-\udfff]/
