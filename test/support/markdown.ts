/** The tables and examples of docs/, for tests that compare them with the code. */

interface Table {
  /** The nearest heading above it. */
  heading: string
  head: string[]
  rows: string[][]
}

/** The tables of a page in docs/, in order. Their cells have no backticks. */
export function tablesOf(page: string): Table[] {
  const tables: Table[] = []
  let [heading, isInTable] = ['', false]
  for (const line of page.replaceAll(/^```[\s\S]*?^```/gm, '').split('\n')) {
    if (line.startsWith('#')) heading = line.replace(/^#+ /, '')
    const isRow = line.startsWith('|')
    if (isRow && !isInTable) tables.push({ heading, head: cellsOf(line), rows: [] })
    else if (isRow && !line.startsWith('|--')) tables.at(-1)?.rows.push(cellsOf(line))
    isInTable = isRow
  }
  return tables
}

/** The names in the first column of the first table below that heading. A cell may have several, with commas. */
export function namesBelow(tables: Table[], heading: string): string[] {
  const table = tables.find((each) => each.heading === heading)
  return table?.rows.flatMap(([cell = '']) => cell.split(', ')) ?? []
}

/** The rows of the first table in a page of docs/. */
export function rowsOf(page: string): string[][] {
  return tablesOf(page)[0]?.rows ?? []
}

function cellsOf(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''))
}

/** The JSON examples of a page, by the heading that each stands under. */
export function examplesOf(page: string): Record<string, unknown> {
  const sections = page.split(/^## /m).slice(1)
  const found = sections.flatMap((section) => {
    const heading = section.slice(0, section.indexOf('\n'))
    const json = /```json\n([\s\S]*?)```/.exec(section)?.[1]
    return json === undefined ? [] : [[heading, JSON.parse(json)]]
  })
  return Object.fromEntries(found)
}

/** The first block of code in that language. Throws where there is none. */
export function blockOf(page: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1]
  if (block === undefined) throw new Error(`there is no block of ${language}`)
  return block
}
