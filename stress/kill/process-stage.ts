/** Runs a scenario with real processes. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer, Stage, Step } from '../scenarios/stage.js'
import type { Ended } from '../support/lab.js'
import type { Ground } from './ground.js'

let scripts = 0

export class ProcessStage implements Stage {
  readonly lab = 'kill'
  readonly root: string
  readonly workspace: string
  readonly thinkingMs = 1500

  constructor(
    private readonly ground: Ground,
    readonly home: string,
    private readonly env: Record<string, string>,
    private readonly ends: (() => void)[] = [],
  ) {
    this.root = ground.lab.root
    this.workspace = ground.lab.workspace
  }

  /** The same scenario on another home. */
  at(home: string): ProcessStage {
    return new ProcessStage(this.ground, home, this.env, this.ends)
  }

  async run(argv: string[]): Promise<Answer> {
    return answerOf(await this.ground.lab.run(this.home, argv, { env: this.env }))
  }

  async do(...argv: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(argv)
    if (status !== 0) throw new Error(`substrat ${argv.join(' ')} exited ${status}: ${stderr}`)
    return stdout.trim()
  }

  async killedBefore(step: Step, n: number, argv: string[]): Promise<void> {
    const { ground, home, env } = this
    // The first run of a command writes its compile cache. Killed runs do not.
    await this.onCopy((copy) => ground.lab.start(copy, argv, { env }).ended)
    const { points } = await this.onCopy((copy) => ground.record(copy, { argv, env }))
    const found = points.filter((point) => ground.begins(step, point))[n - 1]
    const killed = found && (await ground.kill(home, { argv, env }, found))
    if (killed?.signal !== 'SIGKILL')
      throw new Error(`substrat ${argv.join(' ')} has no step ${n} of kind ${step} to die before`)
  }

  private async onCopy<T>(work: (copy: string) => Promise<T>): Promise<T> {
    const copy = await this.ground.copy(this.home)
    const result = await work(copy)
    await this.ground.remove(copy)
    return result
  }

  act(work: () => Promise<void>): Promise<void> {
    return work()
  }

  script(responses: object[]): string[] {
    scripts += 1
    const directory = join(this.root, 'scripts')
    mkdirSync(directory, { recursive: true })
    const file = join(directory, `script-${scripts}.json`)
    writeFileSync(file, JSON.stringify({ responses }))
    return ['--option', `scenario=${file}`]
  }

  put(path: string, bytes: Buffer | undefined): void {
    if (bytes === undefined) rmSync(path)
    else writeFileSync(path, bytes, { mode: 0o600 })
  }

  async usePlugin(directory: string): Promise<void> {
    await this.do('plugins', 'link', directory)
  }

  becomeAnother(): Promise<void> {
    return this.ground.becomeAnother(this.home)
  }

  boot(): void {
    throw new Error('real processes cannot restart the kernel')
  }

  atEnd(work: () => void): void {
    this.ends.push(work)
  }

  end(): void {
    for (const work of this.ends.splice(0)) work()
  }
}

export function answerOf({ code, signal, stdout, stderr }: Ended): Answer {
  return { status: code ?? signal ?? undefined, stdout, stderr }
}
