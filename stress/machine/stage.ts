/** Runs a scenario with processes of the machine. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { homeFileOfAnother } from '../scenarios/homes.js'
import type { Answer, LabName, Stage, Step } from '../scenarios/stage.js'
import { usePlugin } from './commands.js'
import type { Machine } from './machine.js'
import type { Ended, OnStep } from './process.js'

/** The machine beneath, with a home. */
export interface Place {
  readonly root: string
  readonly home: string
  readonly workspace: string
  readonly machine: Machine
  run(argv: string[], onStep?: OnStep): Promise<Ended>
  /** Runs product code as a process. */
  act(work: () => Promise<void>): Promise<Ended>
  put(path: string, bytes: Buffer | undefined): void
}

type MachineLabName = Exclude<LabName, 'kill'>

/** The power-cut lab records one run of the command, so a long delay is affordable. Later runs answer at once. */
const THINKING_MS: Record<MachineLabName, number> = { powercut: 5000, faults: 1000 }

export class MachineStage implements Stage {
  readonly root: string
  readonly home: string
  readonly workspace: string
  readonly thinkingMs: number
  private readonly scripts = new Map<string, object[]>()
  private readonly ends: (() => void)[] = []

  constructor(
    readonly lab: MachineLabName,
    private readonly place: Place,
    env: Record<string, string> = {},
  ) {
    this.thinkingMs = THINKING_MS[lab]
    this.root = place.root
    this.home = place.home
    this.workspace = place.workspace
    // All processes of the machine share the environment of this one.
    for (const [name, value] of Object.entries(env)) {
      const before = process.env[name]
      process.env[name] = value
      this.atEnd(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
    }
  }

  run(argv: string[]): Promise<Answer> {
    return this.place.run(argv)
  }

  async do(...argv: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.place.run(argv)
    if (status !== 0) throw new Error(`substrat ${argv.join(' ')} exited ${status}: ${stderr}`)
    return stdout.trim()
  }

  async killedBefore(step: Step, n: number, argv: string[]): Promise<void> {
    let count = 0
    const { status } = await this.place.run(argv, ({ point }) =>
      point === step && ++count === n ? { kill: true } : undefined,
    )
    if (status !== 'killed')
      throw new Error(`substrat ${argv.join(' ')} has no step ${n} of kind ${step} to die before`)
  }

  async act(work: () => Promise<void>): Promise<void> {
    const { status, stderr } = await this.place.act(work)
    if (status !== 0) throw new Error(stderr)
  }

  script(responses: object[]): string[] {
    const directory = join(this.root, 'scripts')
    mkdirSync(directory, { recursive: true })
    const file = join(directory, `script-${this.scripts.size + 1}.json`)
    this.scripts.set(file, responses)
    writeFileSync(file, JSON.stringify({ responses }))
    return ['--option', `scenario=${file}`]
  }

  /** From here on every model answers at once. */
  hurry(): void {
    for (const [file, responses] of this.scripts) {
      const hurried = responses.map((response) => ({ ...response, delay_ms: 0 }))
      writeFileSync(file, JSON.stringify({ responses: hurried }))
    }
  }

  put(path: string, bytes: Buffer | undefined): void {
    this.place.put(path, bytes)
  }

  async usePlugin(directory: string): Promise<void> {
    const pjson = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
    await usePlugin({ name: pjson.name, version: pjson.version, root: directory, pjson })
  }

  async becomeAnother(): Promise<void> {
    const file = join(this.home, 'home.json')
    this.put(file, homeFileOfAnother(file))
  }

  boot(): void {
    this.place.machine.powerCut()
  }

  atEnd(work: () => void): void {
    this.ends.push(work)
  }

  end(): void {
    for (const work of this.ends.splice(0)) work()
  }
}
