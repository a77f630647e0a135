/** What the laboratory found, and how much it looked at. */
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
