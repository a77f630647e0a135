/**
 * Columns for a person: as wide as their widest cell, the last one as it is. Each row is made twice: to keep the cells of
 * very many takes longer, and half the memory of the command.
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
    // No cell is wider than it has code units, and most are no wider than those before them.
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

/** Characters, not code units; wide ones count as one, which a terminal may not. */
function widthOf(cell: string): number {
  return SURROGATE.test(cell) ? [...cell].length : cell.length
}

const SURROGATE = /[\ud800-\udfff]/
