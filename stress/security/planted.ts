/**
 * A user who can write in a home can forge data with a valid checksum: records, mail, index entries, settings, each
 * with one invalid field. No command may crash, hang, leave the home, or print more than a sentence.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeHome } from '../damage/home.js'
import type { MachineLab } from '../machine/lab.js'
import { Decoy } from './decoy.js'
import { type Attempt, type Findings, runExplained } from './finding.js'

const KIND = 'hostile field'

const COMMANDS = [
  ['show', 'a', '--json'],
  ['show', 'b'],
  ['show', 'a/kid', '--json'],
  ['list', '--all', '--json'],
  ['tree'],
  ['log', 'a'],
  ['log', 'b', '--json'],
  ['inbox', '--json'],
  ['inbox', 'a/kid'],
  ['doctor', '--all', '--json'],
  ['doctor', '--all', '--rebuild'],
  ['send', 'b', '--key', 'new', 'something new'],
  ['send', 'a', '--if-waiting', 'supersede', 'something else'],
  ['recover', '--all'],
  ['deliver', '--all'],
  ['resume', 'a/kid'],
  ['approve', 'a'],
  ['inbox', '--take'],
  ['fork', 'b', '--name', 'forked'],
  ['terminate', 'a', '--recursive'],
]

const LEVELS = 100_000
const MEGABYTES_10 = 10 * 1024 * 1024

/** As raw JSON. */
const VALUES: [string, string][] = [
  ['a path that leaves the home', '"../../../outside"'],
  ['an absolute path', '"/etc/passwd"'],
  ['terminal control sequences', String.raw`"\u001b]52;c;eA==\u0007\u001b[2J\u202e"`],
  ['a forged line', String.raw`"x\nsubstrat: all is well"`],
  ['half a character', String.raw`"\ud800"`],
  ['a NUL', String.raw`"a\u0000b"`],
  ['__proto__', '"__proto__"'],
  ['keys of a prototype', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
  ['100,000 levels', `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`],
  ['infinity', '1e999'],
  ['a negative number', '-1'],
  ['a number out of range', '9007199254740993'],
  ['null', 'null'],
  ['true', 'true'],
  ['a list', '[[],{}]'],
  ['an empty text', '""'],
  ['10 MB', `"${'x'.repeat(MEGABYTES_10)}"`],
]

/** One field of one line of a file, and the text around it. */
interface Place {
  name: string
  field: string
  /** The file with this raw JSON in the place. */
  withValue(raw: string): string
}

/** `every`: each k-th pair of place and value, with the commands in turn. */
export async function plantFields(lab: MachineLab, findings: Findings, every = 1): Promise<void> {
  const home = await makeHome(lab)
  const decoy = new Decoy()
  try {
    decoy.reset()
    let turn = 0
    for (const [label, name] of home.files) {
      // The checksum vouches for the fields of a snapshot: see docs/security.md.
      if (label.endsWith('session.json')) continue
      const text = home.image.entries.get(name)?.toString('utf8') ?? ''
      for (const { field, withValue } of placesIn(name, text)) {
        for (const [what, raw] of VALUES) {
          turn += 1
          if (turn % every !== 0) continue
          const command = COMMANDS[Math.floor(turn / every) % COMMANDS.length] as string[]
          const told = `${what} in ${field} of ${label}`
          if (!findings.begin(KIND, told)) continue
          lab.restore(home.image)
          writeFileSync(join(lab.root, name), withValue(raw), { mode: 0o600 })
          await tryCommand({ lab, decoy, findings, kind: KIND, name: told }, command)
        }
      }
    }
    lab.restore(home.image)
  } finally {
    decoy.close()
  }
}

function* placesIn(name: string, text: string): Iterable<Place> {
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    const object = objectOf(line)
    if (object === undefined) continue
    for (const field of Object.keys(object)) {
      if (field === 'crc') continue
      yield {
        name,
        field: lines.length > 2 ? `${field} of line ${index + 1}` : field,
        withValue: (raw) => lines.with(index, reframe(object, field, raw)).join('\n'),
      }
    }
  }
}

function objectOf(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** With a new checksum, if the line had one. */
function reframe({ crc, ...object }: Record<string, unknown>, field: string, raw: string): string {
  const fields = Object.entries(object).map(
    ([key, value]) => `${JSON.stringify(key)}:${key === field ? raw : JSON.stringify(value)}`,
  )
  const body = `{${fields.join(',')}`
  return crc === undefined ? `${body}}` : `${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`
}

async function tryCommand(attempt: Attempt, command: string[]): Promise<void> {
  const { ended, say } = await runExplained(attempt, command)
  if (Object.keys(Object.prototype).length > 0) say('the prototype of all objects has an extra key')
  if (command.includes('--json') && ended.status === 0 && !isJson(ended.stdout))
    say(`its JSON is invalid: ${ended.stdout.slice(0, 300)}`)
}

/** One value, or one on each line. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return text.trimEnd().split('\n').every(isJsonLine)
  }
}

function isJsonLine(line: string): boolean {
  return line === '' || objectOf(line) !== undefined
}
