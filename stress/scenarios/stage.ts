/** Where a scenario is played: the same words for real processes and for those of the machine. */

export type LabName = 'kill' | 'powercut' | 'faults'

/** What a preparation has learnt: the token that it was given, the id of an agent. */
export type Facts = Record<string, string>

/** How a command ended, and what it printed. */
export interface Answer {
  /** The name of the signal, or `killed`, where one ended it; undefined until it has ended. */
  status: number | string | undefined
  stdout: string
  stderr: string
}

/** Steps that a preparation can be killed before. */
export type Step =
  | 'log.append'
  | 'log.sync'
  | 'mail.remove'
  | 'remove.tree'
  | 'spawn.rename'
  | 'spawn.sync_agents'

export interface Stage {
  readonly lab: LabName
  readonly home: string
  /** A directory of the lab, for what belongs to no home. */
  readonly root: string
  /** The directory that commands are run in. */
  readonly workspace: string
  /** How long a model of another process thinks: longer than the command takes. */
  readonly thinkingMs: number
  /** Runs `substrat ARGV` to its end. */
  run(argv: string[]): Promise<Answer>
  /** As `run`, for what must succeed. Returns what it printed. */
  do(...argv: string[]): Promise<string>
  /** Runs `substrat ARGV` until it is killed before its n-th such step. Throws where it ends before that. */
  killedBefore(step: Step, n: number, argv: string[]): Promise<void>
  /** Runs code of the product as a process of this place. */
  act(work: () => Promise<void>): Promise<void>
  /** Flags of `spawn` that make the model of an agent answer so. */
  script(responses: object[]): string[]
  /** Replaces a file of the home, or removes it, as no crash does. It is on disk at once. */
  put(path: string, bytes: Buffer | undefined): void
  /** The power was cut: from here on the kernel is another one. */
  boot(): void
  /** Does that when the scenario is over. */
  atEnd(work: () => void): void
}
