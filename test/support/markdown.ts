/** The cells of the first table in a page of docs/, without its head and without backticks. */
export function rowsOf(page: string): string[][] {
  const lines = page.split('\n')
  const table = lines.slice(lines.findIndex((line) => line.startsWith('|')))
  const end = table.findIndex((line) => !line.startsWith('|'))
  const rows = table.slice(0, end === -1 ? undefined : end).filter((line) => line.startsWith('| '))
  return rows.slice(1).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
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
