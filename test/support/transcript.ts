/** A transcript of typed commands, which a page of docs/ shows. Ids and times differ in each run, so both sides lose them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { expect } from 'vitest'

/** Compares a transcript with the first block without a language below the heading. WRITE_DOCS=1 writes that block. */
export function expectInDocs(page: string, heading: string, lines: string[]): void {
  const text = readFileSync(page, 'utf8')
  const pattern = new RegExp(`(^#+ ${heading}\n[^]*?\n\`\`\`\n)([^]*?)(\n\`\`\`\n)`, 'm')
  const [, , shown] = pattern.exec(text) ?? []
  if (shown === undefined) throw new Error(`${page} has no block below ${heading}`)
  const isChanged = steady(shown) !== steady(lines.join('\n'))
  if (process.env.WRITE_DOCS === '1' && isChanged)
    writeFileSync(
      page,
      text.replace(pattern, (_, head, __, end) => `${head}${lines.join('\n')}${end}`),
    )
  else expect(steady(lines.join('\n'))).toBe(steady(shown))
}

function steady(transcript: string): string {
  return transcript
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
    .replace(/\b[0-9a-f]{8}\b/g, 'ID')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d(:\d\dZ?)?/g, 'TIME')
    .replaceAll(new RegExp(`\\b(${userInfo().username}|ana)(?= (in an editor|over MCP))`, 'g'), 'NAME')
    .replace(/(?<=use "\w+ )[\d.]+/g, 'VERSION')
}
