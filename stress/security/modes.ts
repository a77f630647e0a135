/** File modes at creation: each file that a command creates in the home or in the compile cache, under any umask. */
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'
import type { Findings } from './finding.js'

const KIND = 'mode'
const UMASKS = ['000', '077', '022', '277', '777']

const COMMANDS = [
  ['spawn', '--name', 'a', '--option', 'scenario=parks.json', 'a prompt'],
  ['spawn', '--name', 'kid', '--parent', 'a'],
  ['config', 'set', 'slots_max', '3'],
  ['send', 'kid', '--queue', '--no-drain', 'by mail'],
  ['send', 'a', 'large '.repeat(12_000), '--if-waiting', 'supersede'],
  [
    'spawn',
    '--name',
    'p',
    '--provider',
    'exec',
    '--allow',
    'tree',
    '--option',
    'command=ls -l $SUBSTRAT_HOME/agents/$SUBSTRAT_AGENT',
  ],
  ['send', 'p', 'hello'],
  ['deliver', '--all'],
  ['suspend', 'a', '--hold'],
  ['recover', '--all'],
  ['doctor', '--all', '--json'],
]

export async function lookAtModes(lab: Lab, findings: Findings): Promise<void> {
  const responses = [{ tools: [{ name: 'shell', input: { command: 'true' } }] }]
  writeFileSync(join(lab.workspace, 'parks.json'), JSON.stringify({ responses }))
  for (const umask of UMASKS) {
    const home = lab.newHome()
    const trace = `${home}.trace`
    const under = [
      'strace',
      '-f',
      '-qq',
      '-o',
      trace,
      '-e',
      'trace=openat,mkdir,chmod,fchmod,fchmodat,mknodat',
    ]
    for (const command of COMMANDS) {
      const name = `umask ${umask}, ${command.slice(0, 3).join(' ')}`
      if (!findings.begin(KIND, name)) continue
      const shell = ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh', ...under]
      const { code, stdout, stderr } = await lab.run(home, command, { under: shell })
      if (code !== 0 && code !== 5) findings.add(KIND, name, command, `exit ${code}: ${stderr}`)
      for (const what of looseIn(home)) findings.add(KIND, name, command, what)
      for (const what of looseIn(join(lab.root, 'user', 'cache', 'substrat')))
        findings.add(KIND, name, command, what)
      if (command.includes('hello') && socketsIn(stdout).length === 0)
        findings.add(KIND, name, command, `it shows no socket: ${stdout}`)
      for (const what of madeLoose(trace, home)) findings.add(KIND, name, command, what)
      for (const line of socketsIn(stdout))
        if (!line.startsWith('srw-------')) findings.add(KIND, name, command, `its socket: ${line}`)
    }
  }
}

/** In the directory listing that the agent's program prints while its tools are served. */
function socketsIn(listed: string): string[] {
  return listed.split('\n').filter((line) => /^s[rwx-]{9}/.test(line))
}

/** The modes after the command. */
function looseIn(root: string): string[] {
  const found: string[] = []
  const look = (path: string): void => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return
    if ((stat.mode & 0o777) !== (stat.isDirectory() ? 0o700 : 0o600))
      found.push(`${path} has the mode 0${(stat.mode & 0o777).toString(8)}`)
    if (stat.isDirectory()) for (const name of readdirSync(path)) look(join(path, name))
  }
  look(root)
  return found
}

const MADE = /(?:openat\(AT_FDCWD, |mkdir\(|f?chmod(?:at)?\((?:AT_FDCWD, )?)"([^"]+)".*\b(0[0-7]{3,4})\)/

/** The modes that the kernel was asked for: a file with its mode corrected later was open for a moment. */
function madeLoose(trace: string, home: string): string[] {
  return readFileSync(trace, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, path, mode] = MADE.exec(line) ?? []
      if (path === undefined || !path.startsWith(home)) return []
      return (Number.parseInt(mode as string, 8) & 0o077) === 0 ? [] : [`it asked for: ${line.slice(0, 200)}`]
    })
}
