/** The place where a scenario runs, with one interface for real processes and for those of the machine. */

export type LabName = 'kill' | 'powercut' | 'faults'

/** Facts from the preparation: a printed token, the id of an agent. */
export type Facts = Record<string, string>

/** The exit and the output of a command. */
export interface Answer {
  /** The name of the signal that ended it, or `killed`; undefined until it has ended. */
  status: number | string | undefined
  stdout: string
  stderr: string
}

/** The steps before which a preparation can be killed. */
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
  /** A directory of the lab, for files outside any home. */
  readonly root: string
  /** The directory that commands run in. */
  readonly workspace: string
  /** The delay of another process's model: longer than the command takes. */
  readonly thinkingMs: number
  /** Runs `substrat ARGV` to its end. */
  run(argv: string[]): Promise<Answer>
  /** Like `run`, but throws if the command fails. Returns its output. */
  do(...argv: string[]): Promise<string>
  /** Runs `substrat ARGV` and kills it before its n-th step of that kind. Throws if it ends before that. */
  killedBefore(step: Step, n: number, argv: string[]): Promise<void>
  /** Runs product code as a process of this place. */
  act(work: () => Promise<void>): Promise<void>
  /** Flags of `spawn` that give the agent's model this script. */
  script(responses: object[]): string[]
  /** Replaces a file of the home, or removes it. The change is synced at once; no crash leaves it. */
  put(path: string, bytes: Buffer | undefined): void
  /** Makes the plugin in this directory known to the commands. */
  usePlugin(directory: string): Promise<void>
  /** Gives the home the identity of another one. */
  becomeAnother(): Promise<void>
  /** Changes the boot id, as after a power cut. */
  boot(): void
  /** Runs `work` when the scenario is over. */
  atEnd(work: () => void): void
}
