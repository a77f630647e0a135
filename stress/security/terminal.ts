/**
 * Hostile output of a model and a program, as a user sees it: text on a terminal (of script(1)), exact in a pipe and in
 * JSON.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../support/lab.js'
import type { Findings } from './finding.js'

const KIND = 'terminal'

/** A window title, the clipboard (OSC 52), a disguised link (OSC 8), a cleared screen, a forged line, reversed text. */
const HOSTILE =
  '\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u0007\u001b]8;;http://evil\u001b\\here\u001b]8;;\u001b\\\u001b[2J\u009b31m\rall is well\b\b\u202egpj.exe\u2066x\u007f'

const RESPONSES = [
  {
    say: HOSTILE,
    tools: [
      { name: HOSTILE.slice(0, 60), input: { [HOSTILE]: HOSTILE } },
      { name: 'set_metadata', input: { values: { note: HOSTILE } } },
      { name: 'set_metadata', input: { key: 'note', value: HOSTILE } },
      { name: 'send_message', input: { to: 'operator', content: HOSTILE } },
      { name: 'remind_me', input: { in_seconds: 100_000, content: HOSTILE } },
    ],
  },
  { say: HOSTILE },
  { tools: [{ name: 'shell', input: { command: `echo '${HOSTILE}'` } }] },
]

const SHOWN = [
  ['show', 'a'],
  ['show', 'a', '--reply'],
  ['log', 'a'],
  ['log', 'p'],
  ['show', 'p'],
  ['list', '--all'],
  ['tree'],
  ['inbox'],
  ['inbox', 'a'],
  ['export', 'a'],
  ['config', 'list'],
  ['providers'],
  ['doctor', '--all'],
  ['wait', 'a', '--no-drain', '--timeout', '1s'],
  ['send', 'p', HOSTILE.replaceAll("'", '')],
  ['approve', 'a'],
]

export async function lookAtTerminal(lab: Lab, findings: Findings): Promise<void> {
  const home = lab.newHome()
  const workspace = join(lab.workspace, `w${HOSTILE.replaceAll(/[/\0]/g, '')}`.slice(0, 100))
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(lab.workspace, 'hostile.json'), JSON.stringify({ responses: RESPONSES }))
  const scenario = `scenario=${join(lab.workspace, 'hostile.json')}`
  await lab.do(
    home,
    'spawn',
    '--name',
    'a',
    '--workspace',
    workspace,
    '--system',
    HOSTILE,
    '--option',
    scenario,
  )
  await lab.do(home, 'spawn', '--name', 'p', '--provider', 'exec', '--option', 'command=cat >&2; exit 3')
  if (findings.begin(KIND, 'JSON output is exact')) {
    const sent = await lab.run(home, ['send', 'a', 'hello', '--allow', 'tree', '--json'])
    if ((JSON.parse(sent.stdout) as { reply: string }).reply !== HOSTILE)
      findings.add(KIND, 'JSON output is exact', ['send'], sent.stdout)
  }
  if (findings.begin(KIND, 'piped output is exact')) {
    const shown = await lab.run(home, ['show', 'a', '--reply'])
    if (shown.stdout !== `${HOSTILE}\n`) findings.add(KIND, 'piped output is exact', ['show'], shown.stdout)
  }
  for (const argv of [['send', 'a', 'ask'], ...SHOWN]) {
    const name = argv.slice(0, 3).join(' ').slice(0, 40)
    if (!findings.begin(KIND, name)) continue
    const seen = await onTerminal(lab, home, argv)
    if (seen === '') findings.add(KIND, name, argv, 'it shows nothing')
    const steering = STEERING.exec(seen.replaceAll('\r\u001b[K', '').replaceAll(/\r\n/g, '\n'))
    if (steering !== null)
      findings.add(
        KIND,
        name,
        argv,
        `${JSON.stringify(steering[0])} in ${JSON.stringify(seen.slice(Math.max(0, steering.index - 100), steering.index + 40))}`,
      )
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
export const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

/** stdin, stdout and stderr are one terminal. */
export function onTerminal(
  lab: Lab,
  home: string,
  argv: string[],
  env: Record<string, string> = {},
): Promise<string> {
  const words = [process.execPath, lab.cli, ...argv].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qefc', words, '/dev/null'], {
    cwd: lab.workspace,
    env: { ...lab.environment(home), TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const pieces: Buffer[] = []
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => resolve(Buffer.concat(pieces).toString('utf8')))
  })
}
