import { displayWidth } from './width.js'

/**
 * A text table. Each column is as wide as its widest cell; the last one is not padded. Each row is computed twice, because
 * storing the cells of many thousand rows is slower and takes half the memory of the command.
 */
export function table<T>(head: string[], items: readonly T[], cellsOf: (item: T) => string[]): string {
  const widths = head.map(displayWidth)
  for (const item of items) widen(widths, cellsOf(item))
  const lines = [lineOf(head, widths)]
  for (const item of items) lines.push(lineOf(cellsOf(item), widths))
  return lines.join('\n')
}

function widen(widths: number[], cells: string[]): void {
  for (let column = 0; column < cells.length; column++) {
    const [cell, width] = [cells[column] as string, widths[column] as number]
    // A code unit is at most two columns wide. Most cells need no exact count.
    if (2 * cell.length > width) widths[column] = Math.max(width, displayWidth(cell))
  }
}

function lineOf(cells: string[], widths: number[]): string {
  let line = ''
  for (let column = 0; column < cells.length - 1; column++) {
    const cell = cells[column] as string
    // With the space behind its column.
    line += cell.padEnd((widths[column] as number) + 2 + cell.length - displayWidth(cell))
  }
  return (line + cells[cells.length - 1]).trimEnd()
}
