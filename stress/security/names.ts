/**
 * Names that walk out of the home, end a string, steer a terminal or are no names at all, in the place of each word that a
 * command takes: refused by name, with nothing made, changed or read outside, and told in one line of plain text.
 */
import { join } from 'node:path'
import { makeHome } from '../damage/home.js'
import type { MachineLab } from '../machine/lab.js'
import { CANARY, Decoy } from './decoy.js'
import { type Findings, runToEnd } from './finding.js'

const KIND = 'hostile word'

/** `@` is the word. */
const COMMANDS = [
  'show @',
  'log @',
  'send @ hello',
  'send a hello --key @ --if-waiting supersede',
  'send a hello --from @ --queue',
  'send b hello --queue --reply-to @',
  'suspend @',
  'resume @',
  'resume a --token @ --approve',
  'approve a @',
  'deny a @',
  'cancel @',
  'retry @',
  'recover @',
  'terminate @',
  'remove @',
  'gate @',
  'ungate @',
  'fork @',
  'fork b --name @',
  'spawn --name @',
  'spawn --parent @',
  'spawn --provider @',
  'spawn --workspace @',
  'spawn --option @=x',
  'spawn --option scenario=@',
  'set b --model @',
  'set b --name @',
  'set @ --model m',
  'inbox @',
  'inbox --take @',
  'deliver @',
  'wait @ --timeout 1s',
  'token rotate @',
  'config set @ x',
  'config set model @',
  'config set mcp_servers @',
]

const WORDS = [
  '../../outside/file',
  '..',
  '.',
  '/etc/passwd',
  'a/../../b',
  'a\0b',
  'a\nsubstrat: all is well',
  '\u001b]52;c;eA==\u0007',
  '\u009b2J',
  'abc\u202egnp.exe',
  'a'.repeat(100_000),
  '__proto__',
  'constructor',
  '-rf',
  '$(touch pwned)',
  "'; touch pwned; '",
  '%2e%2e%2f',
  '\ud800',
  '\ufeffa',
]

export async function tryWords(lab: MachineLab, findings: Findings, every = 1): Promise<void> {
  const home = await makeHome(lab)
  const decoy = new Decoy()
  try {
    decoy.reset()
    const words = [...WORDS, decoy.file, join('..', '..', decoy.file.slice(1))]
    let turn = 0
    for (const line of COMMANDS) {
      for (const word of words) {
        turn += 1
        const name = `${line} with ${JSON.stringify(word).slice(0, 60)}`
        if (turn % every !== 0 || !findings.begins(KIND, name)) continue
        lab.restore(home.image)
        const argv = line.split(' ').map((part) => part.replace('@', () => word))
        await tryWord(lab, decoy, argv, name, findings)
      }
    }
    lab.restore(home.image)
  } finally {
    decoy.close()
  }
}

async function tryWord(
  lab: MachineLab,
  decoy: Decoy,
  argv: string[],
  name: string,
  findings: Findings,
): Promise<void> {
  const before = decoy.print()
  const seen = lab.image()
  const say = (what: string): void => findings.add(KIND, name, argv.slice(0, 1), what)
  const { status, stdout, stderr } = await runToEnd(lab, argv, say)
  if (decoy.print() !== before) say('it changes what is outside')
  if (`${stdout}${stderr}`.includes(CANARY)) say('it prints what is outside')
  const strange = lab
    .image()
    .differencesFrom(seen)
    .find((file) => !/^(home|workspace)\//.test(file))
  if (strange !== undefined) say(`it makes ${strange}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (status !== 0 && /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(stderr))
    say(`its sentence steers the terminal: ${JSON.stringify(stderr.slice(0, 300))}`)
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  if (typeof status === 'number' && status !== 0 && !last.startsWith('substrat: '))
    say(`it does not say why: exit ${status} ${JSON.stringify(stderr.slice(-200))}`)
  if (last === 'substrat: all is well') say('its sentence can be forged')
  if (stderr.length > 20_000) say(`it repeats ${stderr.length} characters`)
}
