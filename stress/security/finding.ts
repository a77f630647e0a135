/** The findings of the lab, and the number of its cases. */
import type { LabEnded, MachineLab } from '../machine/lab.js'
import { CANARY, type Decoy } from './decoy.js'

export interface Broken {
  /** The kind and the name of the case: enough to run it alone again. */
  kind: string
  name: string
  command: string
  what: string
}

export class Findings {
  readonly broken: Broken[] = []
  /** The number of cases by kind. */
  readonly counts = new Map<string, number>()

  constructor(private readonly only: string | undefined) {}

  /** Counts the case. Returns false if it was not selected. */
  begin(kind: string, name: string): boolean {
    if (this.only !== undefined && !`${kind}: ${name}`.includes(this.only)) return false
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
    return true
  }

  add(kind: string, name: string, command: string[], what: string): void {
    this.broken.push({ kind, name, command: command.join(' '), what })
  }
}

export interface Attempt {
  lab: MachineLab
  decoy: Decoy
  findings: Findings
  kind: string
  name: string
}

type Say = (what: string) => void

/** Runs the command, and reports a hang, an unhandled error, or access outside the home. */
export async function runConfined(
  { lab, decoy, findings, kind, name }: Attempt,
  command: string[],
): Promise<{ ended: LabEnded; say: Say }> {
  const say: Say = (what) => findings.add(kind, name, command, what)
  const before = decoy.print()
  const ended = await lab.run(command)
  const { status, stdout, stderr } = ended
  if (ended.isHung) say('it hangs')
  if (status === 1 || /\n {4}at /.test(stderr)) say(`it dies: ${stderr.slice(0, 600)}`)
  if (decoy.print() !== before) say(`it changes what is outside\n${difference(before, decoy.print())}`)
  if (`${stdout}${stderr}`.includes(CANARY)) say('it prints content from outside the home')
  return { ended, say }
}

/** The same, and reports files made elsewhere or a failure without an explanation. */
export async function runExplained(
  attempt: Attempt,
  command: string[],
): Promise<{ ended: LabEnded; say: Say }> {
  const { lab } = attempt
  const seen = lab.image()
  const { ended, say } = await runConfined(attempt, command)
  const outside = lab.image().differencesFrom(seen)
  const strange = outside.find((file) => !/^(home|workspace)\//.test(file))
  if (strange !== undefined) say(`it makes ${strange}`)
  const { status, stderr } = ended
  if (typeof status !== 'number' || status === 0) return { ended, say }
  const last = stderr.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('substrat: ') || last === 'substrat: all is well')
    say(`it does not say why: exit ${status} ${JSON.stringify(stderr.slice(-300))}`)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(last))
    say(`its message controls the terminal: ${JSON.stringify(last.slice(0, 300))}`)
  if (stderr.length > 20_000) say(`it repeats ${stderr.length} characters`)
  return { ended, say }
}

function difference(before: string, after: string): string {
  const lines = new Set(before.split('\n'))
  return after
    .split('\n')
    .filter((line) => !lines.has(line))
    .map((line) => `    ${line.slice(0, 200)}`)
    .join('\n')
}
