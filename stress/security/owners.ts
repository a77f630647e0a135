/**
 * Files that are read before the home and decide which code runs: the compile cache, the list of plugins, and a plugin.
 * If any part of the path to them belongs to another user, or is writable by others, the code must not run or load.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Ended, Lab } from '../support/lab.js'
import type { Findings } from './finding.js'

const KIND = 'owner'
const OTHER = 12345

interface Change {
  name: string
  make(path: string): void
  /** For a directory on the path: with the sticky bit others cannot replace files that they do not own. */
  isHarmless?: true
}

const CHANGES: Change[] = [
  { name: 'of another user', make: (path) => chownSync(path, OTHER, OTHER) },
  { name: 'its group may write', make: (path) => chmodSync(path, lstatSync(path).mode | 0o020) },
  { name: 'all users may write', make: (path) => chmodSync(path, lstatSync(path).mode | 0o002) },
  { name: 'sticky', make: (path) => chmodSync(path, 0o1777), isHarmless: true },
]
const COMMANDS = [['list'], ['config', 'list', '--json'], ['show', 'a']]

export async function lookAtOwners(lab: Lab, findings: Findings): Promise<void> {
  // Only root can give a file away.
  if (process.getuid?.() !== 0) return
  const home = lab.newHome()
  await lab.do(home, 'spawn', '--name', 'a')
  for (const kind of ['code', 'plugins', 'plugin'] as const) {
    for (const level of [0, 1, 2, 3]) {
      for (const change of CHANGES) {
        for (const argv of COMMANDS) {
          const name = `${kind}, ${level} above, ${change.name}, ${argv.join(' ')}`
          if (findings.begin(KIND, name)) await look(lab, findings, { home, kind, level, change, argv, name })
        }
      }
    }
  }
}

interface Trial {
  home: string
  kind: 'code' | 'plugins' | 'plugin'
  level: number
  change: Change
  argv: string[]
  name: string
}

async function look(
  lab: Lab,
  findings: Findings,
  { home, kind, level, change, argv, name }: Trial,
): Promise<void> {
  const root = join(lab.root, 'owners')
  rmSync(root, { recursive: true, force: true })
  const directory = join(root, 'user', 'deep', 'substrat')
  mkdirSync(directory, { recursive: true, mode: 0o755 })
  const env = { [kind === 'code' ? 'SUBSTRAT_CACHE_DIR' : 'SUBSTRAT_DATA_DIR']: directory }
  const plugin = join(root, 'other', 'deep', 'plugin')
  const list = kind === 'code' ? undefined : writeList(directory, plugin)
  const file =
    list === undefined
      ? await compileInto(lab, home, directory, env, argv)
      : kind === 'plugins'
        ? list
        : join(plugin, 'package.json')
  const before = kind === 'code' ? lstatSync(file) : undefined
  let changed = file
  for (let above = 0; above < level; above++) changed = dirname(changed)
  change.make(changed)
  const ended = await lab.run(home, argv, { env })
  // The sticky bit has no meaning for a file.
  const isRefused = change.isHarmless !== true || level === 0
  for (const what of wrongIn(kind, isRefused, ended)) findings.add(KIND, name, argv, what)
  const isReplaced = before !== undefined && existsSync(file) && lstatSync(file).ino !== before.ino
  if (isReplaced && level > 0)
    findings.add(KIND, name, argv, 'it writes where another user could redirect it')
}

async function compileInto(
  lab: Lab,
  home: string,
  directory: string,
  env: Record<string, string>,
  argv: string[],
): Promise<string> {
  await lab.run(home, argv, { env })
  const [name, ...others] = readdirSync(directory).filter((each) => each.endsWith('.code'))
  if (name === undefined) throw new Error('a command leaves its compile cache')
  for (const other of others) rmSync(join(directory, other))
  return join(directory, name)
}

/** A list with a plugin that prints a line when it is loaded. */
function writeList(directory: string, root: string): string {
  mkdirSync(root, { recursive: true, mode: 0o755 })
  writeFileSync(
    join(root, 'package.json'),
    JSON.stringify({ name: 'owned', version: '1.0.0', oclif: { commands: './c' } }),
  )
  const plugins = [{ name: 'owned', type: 'link', root }]
  const file = join(directory, 'package.json')
  writeFileSync(file, JSON.stringify({ oclif: { schema: 1, plugins } }), { mode: 0o644 })
  return file
}

function* wrongIn(
  kind: Trial['kind'],
  isRefused: boolean,
  { code, stdout, stderr }: Ended,
): Iterable<string> {
  if (/\n {4}at /.test(stderr)) yield `it prints no stack: ${stderr.slice(0, 300)}`
  if (kind !== 'code') {
    if (code !== (isRefused ? 11 : 0))
      yield `it exits ${isRefused ? 11 : 0}, not ${code}: ${stderr.slice(0, 300)}`
    if (isRefused && !stderr.includes('are not loaded: ') && !stdout.includes('are not loaded: '))
      yield `it says why: ${stderr}`
    return
  }
  if (code !== 0) yield `it runs without the code, and does not exit ${code}: ${stderr.slice(0, 300)}`
  if (stderr.includes('is not used: ') !== isRefused)
    yield isRefused ? `it says that the code is not used: ${stderr}` : `it uses the code: ${stderr}`
}
