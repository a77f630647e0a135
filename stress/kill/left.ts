/**
 * A digest of the state that a kill leaves. Two kills that leave the same files and the same output have the same
 * continuation, so it runs once. That merges many: a kill before a sync leaves the same state as one before the next
 * write.
 *
 * The digest leaves out this run's ids, times, process ids and checksums, but includes those of the home that all runs
 * start from.
 */
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { type Ended, namesBeside, pathBeside } from '../support/lab.js'

export function digestOfLeft(home: string, told: Ended, known: Set<string>): string {
  const texts = entriesBelow(home)
    .filter(isState)
    .map((file) => `${relative(home, file)} ${contentOf(file)}`)
  return digestOfTexts(home, texts, told, known)
}

/** The same for any home: `texts` are its content. */
export function digestOfTexts(
  home: string,
  texts: string[],
  { code, stdout, stderr }: Ended,
  known: Set<string>,
): string {
  const steady = (text: string): string => withoutChance(text, home, known)
  const beside = namesBeside(home).map((name) => `.${name} ${contentOf(pathBeside(home, name))}`)
  const state = [...texts, ...beside].map(steady).sort()
  return createHash('sha256')
    .update(JSON.stringify([code, steady(stdout), steady(stderr), state]))
    .digest('hex')
}

/** The ids that are the same in all runs. */
export function idsIn(template: string): Set<string> {
  return idsInTexts(entriesBelow(template).map((file) => file + contentOf(file)))
}

export function idsInTexts(texts: string[]): Set<string> {
  return new Set(texts.flatMap((text) => text.match(ID) ?? []))
}

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

function withoutChance(text: string, home: string, known: Set<string>): string {
  return text
    .replaceAll(home, 'home')
    .replaceAll(ID, (id) => (known.has(id) ? id : '<id>'))
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?/g, '<time>')
    .replaceAll(/"crc":"[0-9a-f]{8}"/g, '<crc>')
    .replaceAll(/"hash":"[0-9a-f]+"/g, '<hash>')
    .replaceAll(/st_<id>_[\w-]{32}/g, '<token>')
    .replaceAll(/\.\d+-\w+\.tmp/g, '.tmp')
    .replaceAll(/\d{3,}/g, '#')
}

/** A slot is chosen by chance, and is free as soon as its process is dead. */
function isState(file: string): boolean {
  return !file.includes('/slots/')
}

function contentOf(file: string): string {
  // The holder named in a lock file is only for people.
  return lstatSync(file).isFile() && basename(file) !== 'lock' ? readFileSync(file, 'latin1') : ''
}

/** Includes directories: a kill may come before the first file in one. */
function entriesBelow(directory: string): string[] {
  if (!existsSync(directory)) return []
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  return names.map((name) => join(directory, name))
}
