/** The tables, examples, links and anchors of pages, for tests that compare them with the code. */

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
  for (const line of withoutBlocks(page).split('\n')) {
    if (line.startsWith('#')) heading = line.replace(/^#+ /, '')
    const isRow = line.startsWith('|')
    if (isRow && !isInTable) tables.push({ heading, head: cellsOf(line), rows: [] })
    else if (isRow && !line.startsWith('|--')) tables.at(-1)?.rows.push(cellsOf(line))
    isInTable = isRow
  }
  return tables
}

interface Section {
  heading: string
  /** The nearest heading of level 2. */
  chapter: string
  lines: string[]
}

/** The sections of a page in order, with their code blocks. */
export function sectionsOf(page: string): Section[] {
  const sections: Section[] = []
  let chapter = ''
  for (const line of page.split('\n')) {
    const [, marks, heading] = /^(#{2,}) (.*)$/.exec(line) ?? []
    if (marks === '##') chapter = heading as string
    if (heading !== undefined) sections.push({ heading, chapter, lines: [] })
    else sections.at(-1)?.lines.push(line)
  }
  return sections
}

/** The terms of the list `- \`a\`, \`b\`: meaning` below that heading. */
export function termsBelow(page: string, heading: string): string[] {
  const lines = sectionsOf(page).find((section) => section.heading === heading)?.lines ?? []
  return lines.flatMap((line) => {
    const terms = /^- ((?:`[^`]+`(?:, )?)+): /.exec(line)?.[1]
    return terms === undefined ? [] : terms.split(', ').map((term) => term.replaceAll('`', ''))
  })
}

interface Shape {
  name: string
  heading: string
  chapter: string
  /** Each is `name:type` or `name?:type`. */
  fields: string[]
}

/**
 * The shapes of a page: a paragraph that begins with a name in bold code, optionally followed by a line `a:type
 * b?:type` in code.
 */
export function shapesOf(page: string): Shape[] {
  const shapes: Shape[] = []
  for (const { heading, chapter, lines } of sectionsOf(page)) {
    const paragraphs = lines.filter((line) => line !== '')
    for (const [index, line] of paragraphs.entries()) {
      const name = /^\*\*`([^`]+)`\*\*/.exec(line)?.[1]
      if (name === undefined) continue
      const fields = /^`([a-z_]+\??:[^`]+)`$/.exec(paragraphs[index + 1] ?? '')?.[1]
      shapes.push({ name, heading, chapter, fields: fields?.split(' ') ?? [] })
    }
  }
  return shapes
}

/** The targets of the relative links of a page, in order. Code has no links. */
export function linksOf(page: string): string[] {
  const text = withoutBlocks(page).replaceAll(/`[^`\n]*`/g, '')
  const found = text.matchAll(/\]\((?:<([^>]*)>|([^\s)]+))[^)]*\)|^\[[^\]]+\]: (\S+)/gm)
  return [...found]
    .map(([, spaced, plain, reference]) => spaced ?? plain ?? (reference as string))
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** The anchors of the headings of a page, as GitHub computes them. */
export function anchorsOf(page: string): string[] {
  const seen = new Map<string, number>()
  return [...withoutBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .replaceAll(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-')
    const before = seen.get(anchor) ?? 0
    seen.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  })
}

function withoutBlocks(page: string): string {
  return page.replaceAll(/^```[\s\S]*?^```/gm, '')
}

function cellsOf(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''))
}

/** The JSON examples of a page, by their heading. */
export function examplesOf(page: string): Record<string, unknown> {
  const sections = page.split(/^## /m).slice(1)
  const found = sections.flatMap((section) => {
    const heading = section.slice(0, section.indexOf('\n'))
    const json = /```json\n([\s\S]*?)```/.exec(section)?.[1]
    return json === undefined ? [] : [[heading, JSON.parse(json)]]
  })
  return Object.fromEntries(found)
}

/** The first code block in that language. Throws if there is none. */
export function blockOf(page: string, language: string): string {
  const block = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1]
  if (block === undefined) throw new Error(`there is no block of ${language}`)
  return block
}
