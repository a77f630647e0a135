/** What the laboratory found, and how much it looked at. */
import type { LabEnded, MachineLab } from '../machine/lab.js'

export interface Broken {
  /** Of what kind, and which one: enough to run it again alone. */
  kind: string
  name: string
  command: string
  what: string
}

export class Findings {
  readonly broken: Broken[] = []
  /** Cases by kind. */
  readonly counts = new Map<string, number>()

  constructor(private readonly only: string | undefined) {}

  /** Counts it. False for what was not asked for. */
  begins(kind: string, name: string): boolean {
    if (this.only !== undefined && !`${kind}: ${name}`.includes(this.only)) return false
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
    return true
  }

  add(kind: string, name: string, command: string[], what: string): void {
    this.broken.push({ kind, name, command: command.join(' '), what })
  }
}

/** Runs the command, and reports whether it hangs or dies of an error that it does not handle. */
export async function runToEnd(
  lab: MachineLab,
  command: string[],
  report: (what: string) => void,
): Promise<LabEnded> {
  const ended = await lab.run(command)
  if (ended.isHung) report('it hangs')
  if (ended.status === 1 || /\n {4}at /.test(ended.stderr)) report(`it dies: ${ended.stderr.slice(0, 600)}`)
  return ended
}
