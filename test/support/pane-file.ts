/**
 * Captured panes as files (test/terminal/panes), for a person to read and for a test to compare. Ids and times are replaced by
 * letters of the same width, so that the lines are as wide as they were. `WRITE_PANES=1` writes the files.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'

const DIRECTORY = join(import.meta.dirname, '../terminal/panes')

export function expectPanes(name: string, panes: { title: string; pane: string }[]): void {
  const text = panes.map(({ title, pane }) => `${title}\n\n${replaced(pane)}\n`).join('\n\n')
  const file = join(DIRECTORY, `${name}.txt`)
  if (process.env.WRITE_PANES === '1') {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const known = existsSync(file) ? readFileSync(file, 'utf8') : ''
  expect(text, `WRITE_PANES=1 npx vitest run test/terminal writes ${file}`).toBe(known)
}

function replaced(pane: string): string {
  return pane
    .replace(/st_[0-9a-f-]{36}_[\w-]{32}/g, (token) => 'st_'.padEnd(token.length, 'x'))
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => id.replace(/\w/g, 'x'))
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b/g, 'xxxxxxxx')
    .replace(/\d{4}-\d\d-\d\d/g, 'YYYY-MM-DD')
    .replace(/\b\d\d:\d\d:\d\d/g, 'HH:MM:SS')
    .replace(/(?<=YYYY-MM-DD )\d\d:\d\d(?=Z|\b)/g, 'HH:MM')
    .replace(/^\w+day, /gm, 'DAY, ')
    .replace(/\b\d+ (s|min) ago */g, 'T ago       ')
    .replace(/^(workspace +)\S+(\n {13}\S+$)*/gm, '$1DIRECTORY')
    .replace(/\b\d+m\d\ds\b|\b[\d.]+ s\b/g, 'T')
    .replace(/\b[\d.]+\/s\b/g, 'R/s')
    .replace(/ +$/gm, '')
}
