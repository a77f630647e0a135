/** Columns for a person: as wide as their widest cell, the last one as it is. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[column] ?? title)), widthOf(title)),
  )
  const line = (row: string[]): string =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cell : cell + ' '.repeat((widths[column] as number) - widthOf(cell)),
      )
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
}

/** Characters, not code units; wide ones count as one, which a terminal may not. */
function widthOf(cell: string): number {
  return SURROGATE.test(cell) ? [...cell].length : cell.length
}

const SURROGATE = /[\ud800-\udfff]/
