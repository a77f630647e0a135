/**
 * Whoever can write in a home can forge what checks: records, mail, entries of an index, settings, each with one field that
 * is none, and its checksum right. No command dies of it, hangs, leaves the home, or says more than a sentence.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeHome } from '../damage/home.js'
import type { MachineLab } from '../machine/lab.js'
import { CANARY, Decoy } from './decoy.js'
import { type Findings, runToEnd } from './finding.js'

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

/** As they stand in the JSON. */
const VALUES: [string, string][] = [
  ['a path that walks out', '"../../../outside"'],
  ['an absolute path', '"/etc/passwd"'],
  ['words that steer a terminal', String.raw`"\u001b]52;c;eA==\u0007\u001b[2J\u202e"`],
  ['a forged line', String.raw`"x\nsubstrat: all is well"`],
  ['half a character', String.raw`"\ud800"`],
  ['a NUL', String.raw`"a\u0000b"`],
  ['__proto__', '"__proto__"'],
  ['keys of a prototype', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
  ['100,000 levels', `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`],
  ['infinity', '1e999'],
  ['less than nothing', '-1'],
  ['what no number holds', '9007199254740993'],
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

/** `every`: each so manieth of all pairs of place and value, with the commands in turn. */
export async function plantFields(lab: MachineLab, findings: Findings, every = 1): Promise<void> {
  const home = await makeHome(lab)
  const decoy = new Decoy()
  try {
    decoy.reset()
    let turn = 0
    for (const [label, name] of home.files) {
      // The fields of a snapshot that checks are believed: see docs/security.md.
      if (label.endsWith('session.json')) continue
      const text = home.image.entries.get(name)?.toString('utf8') ?? ''
      for (const { field, withValue } of placesIn(name, text)) {
        for (const [what, raw] of VALUES) {
          turn += 1
          if (turn % every !== 0) continue
          const command = COMMANDS[Math.floor(turn / every) % COMMANDS.length] as string[]
          const told = `${what} in ${field} of ${label}`
          if (!findings.begins(KIND, told)) continue
          lab.restore(home.image)
          writeFileSync(join(lab.root, name), withValue(raw), { mode: 0o600 })
          await tryCommand(lab, decoy, command, told, findings)
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
        withValue: (raw) => lines.with(index, reframed(object, field, raw)).join('\n'),
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

/** With its checksum, where it had one. */
function reframed({ crc, ...object }: Record<string, unknown>, field: string, raw: string): string {
  const fields = Object.entries(object).map(
    ([key, value]) => `${JSON.stringify(key)}:${key === field ? raw : JSON.stringify(value)}`,
  )
  const body = `{${fields.join(',')}`
  return crc === undefined ? `${body}}` : `${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}`
}

async function tryCommand(
  lab: MachineLab,
  decoy: Decoy,
  command: string[],
  name: string,
  findings: Findings,
): Promise<void> {
  const before = decoy.print()
  const seen = lab.image()
  const say = (what: string): void => findings.add(KIND, name, command, what)
  const { status, stdout, stderr } = await runToEnd(lab, command, say)
  if (decoy.print() !== before || stdout.includes(CANARY)) say('it leaves the home')
  const outside = lab.image().differencesFrom(seen)
  const strange = outside.find((file) => !/^(home|workspace)\//.test(file))
  if (strange !== undefined) say(`it makes ${strange}`)
  if (Object.keys(Object.prototype).length > 0) say('the prototype of all objects has a key more')
  if (command.includes('--json') && status === 0 && !isJson(stdout))
    say(`its JSON is none: ${stdout.slice(0, 300)}`)
  if (typeof status !== 'number' || status === 0) return
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('substrat: ') || last === 'substrat: all is well')
    say(`it does not say why: exit ${status} ${JSON.stringify(stderr.slice(-300))}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(last))
    say(`its sentence steers the terminal: ${JSON.stringify(last.slice(0, 300))}`)
  if (last.length > 20_000) say(`it repeats ${last.length} characters`)
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
