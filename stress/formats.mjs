// Shows that the last build of format 1 refuses homes of format 2 and changes nothing in them: node stress/formats.mjs
// The build is made from the history of this repository. A shallow clone does not have it, and the lab is skipped.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { buildProgramOfFormat1, COMMIT, hasProgramOfFormat1 } from './support/format-1.mjs'
import { recordResult } from './support/result.mjs'

const EXIT_REFUSED = 10
const TOKEN = `st_00000000-0000-4000-8000-000000000000_${'a'.repeat(32)}`
/** Each command of that build which opens a home, with its main options. */
const LINES = [
  'approve a',
  'approve --json a',
  'cancel a',
  'cancel --json a',
  'config get model',
  'config list',
  'config list --json',
  'config set model other',
  'deliver --all',
  'deliver --all --json',
  'deliver a',
  'deny a',
  'deny a --reason no',
  'doctor',
  'doctor --json',
  'export a',
  'export a --json',
  'fork a',
  'fork a --name b --json',
  'gate a',
  'gate a --json',
  'inbox',
  'inbox a',
  'inbox --json',
  'list',
  'list --json',
  'log a',
  'log a --json',
  'prune --older-than 1d',
  'prune --older-than 1d --dry-run',
  'prune --older-than 1d --json',
  'recover --all',
  'recover a',
  'recover --all --json',
  'remove a',
  'remove a --json',
  'resume a',
  'resume a --json',
  `resume a --token ${TOKEN} --approve`,
  'retry a',
  'retry a --json',
  'send a hello',
  'send a --key k hello',
  'send a --queue hello',
  'send a --json hello',
  'set a --title new',
  'set a --title new --json',
  'show a',
  'show a --json',
  'spawn --name b',
  'spawn --name b hello',
  'spawn --name b --json',
  'suspend a',
  'terminate a',
  'token rotate a',
  'tree',
  'ungate a',
  'unlock --all',
  'wait a',
] // prettier-ignore

const root = path.dirname(import.meta.dirname)
const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-formats-'))
try {
  process.exitCode = main()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function main() {
  if (!hasProgramOfFormat1()) {
    console.log(`skipped: this clone does not have commit ${COMMIT} (git fetch --unshallow)`)
    return 0
  }
  const program = buildProgramOfFormat1(path.join(scratch, 'program'))
  const wrong = [...controlled(program)]
  let cases = 0
  for (const name of ['home', 'home-tree', 'home-turns', 'home-results']) {
    const home = copied(`v2/${name}`)
    for (const line of LINES) {
      cases += 1
      for (const broken of refused(program, home, line)) wrong.push(`${name}: substrat ${line}: ${broken}`)
    }
  }
  for (const each of wrong) console.log(each)
  console.log(`${cases} commands of the build of ${COMMIT} on homes of format 2, ${wrong.length} violations`)
  const sample = `${LINES.length} command lines on four homes`
  recordResult({ lab: 'formats', sample, cases, violations: wrong.length })
  return wrong.length === 0 ? 0 : 1
}

/** The same build works on its own format. Otherwise its refusals would prove nothing. */
function* controlled(program) {
  const home = copied('v1/home')
  const before = view(home)
  const { status } = substrat(program, home, 'spawn --name control')
  if (status !== 0) yield `a home of format 1: exit ${status}, not 0`
  if (view(home) === before) yield 'a home of format 1: a new agent is not seen as a change'
}

function* refused(program, home, line) {
  const before = view(home)
  const { status, stdout, stderr } = substrat(program, home, line)
  if (status !== EXIT_REFUSED) yield `exit ${status}, not ${EXIT_REFUSED}`
  if (!`${stdout}${stderr}`.includes('has format 2; this program knows 1')) yield 'the format is not named'
  if (view(home) !== before) yield 'the home has changed'
}

function substrat(program, home, line) {
  const user = path.join(scratch, 'user')
  mkdirSync(user, { recursive: true })
  return spawnSync(process.execPath, [program, ...line.split(' ')], {
    cwd: user,
    env: { PATH: process.env.PATH, HOME: user, SUBSTRAT_HOME: home },
    encoding: 'utf8',
    input: '',
    timeout: 60_000,
  })
}

function copied(name) {
  const home = path.join(scratch, name.replace('/', '-'))
  cpSync(path.join(root, 'test/formats', name), home, { recursive: true })
  // Git does not store empty directories.
  for (const directory of ['boots', 'operator/inbox', 'unclean'])
    if (!existsSync(path.join(home, directory))) mkdirSync(path.join(home, directory), { recursive: true })
  return home
}

/** Every name below the home, with its mode, size, time of change and bytes. */
function view(home) {
  const names = ['.', ...readdirSync(home, { recursive: true })].sort()
  return names
    .map((name) => {
      const file = path.join(home, name)
      const { mode, size, mtimeNs } = lstatSync(file, { bigint: true })
      const isFile = lstatSync(file).isFile()
      return `${name} ${mode} ${size} ${mtimeNs} ${isFile ? readFileSync(file).toString('base64') : ''}`
    })
    .join('\n')
}
