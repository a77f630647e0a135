/**
 * Hostile names in the place of each word that a command takes: names that leave the home, end a string, control a
 * terminal, or are invalid. The command must refuse them by name, in one line of plain text, and neither create,
 * change nor read anything outside.
 */
import { join } from 'node:path'
import { makeHome } from '../damage/home.js'
import type { MachineLab } from '../machine/lab.js'
import { Decoy } from './decoy.js'
import { type Findings, runExplained } from './finding.js'

const KIND = 'hostile word'

/** `@` marks the word to replace. */
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
  'answer a @',
  'answer a --key @ x',
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
        if (turn % every !== 0 || !findings.begin(KIND, name)) continue
        lab.restore(home.image)
        const argv = line.split(' ').map((part) => part.replace('@', () => word))
        const { ended, say } = await runExplained({ lab, decoy, findings, kind: KIND, name }, argv)
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
        if (ended.status !== 0 && /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(ended.stderr))
          say(`its words control the terminal: ${JSON.stringify(ended.stderr.slice(0, 300))}`)
      }
    }
    lab.restore(home.image)
  } finally {
    decoy.close()
  }
}
