/** A machine with its own home and workspace in one temporary directory, which is restored before each case. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Image } from './image.js'
import { Machine } from './machine.js'
import { withoutBarriers } from './patches.js'
import type { Ended, LabProcess, OnStep } from './process.js'

export interface LabEnded extends Ended {
  /** It exceeded its time, and was killed. */
  isHung: boolean
}

/** The home is in memory if possible: a disk would only make it slower. */
const MEMORY = '/dev/shm'
/** A command of a lab takes less than a hundredth of this, unless it waits for an event that never comes. */
const RUN_MS_MAX = 20_000

export class MachineLab {
  readonly home: string
  readonly workspace: string
  readonly machine: Machine
  private readonly cwd = process.cwd()

  private constructor(readonly root: string) {
    this.home = join(root, 'home')
    this.workspace = join(root, 'workspace')
    mkdirSync(this.workspace)
    this.machine = new Machine(this.home)
    withoutBarriers()
    process.chdir(this.workspace)
  }

  static open(): MachineLab {
    return new MachineLab(mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'substrat-machine-')))
  }

  close(): void {
    process.chdir(this.cwd)
    rmSync(this.root, { recursive: true, force: true })
  }

  image(): Image {
    return Image.of(this.root)
  }

  restore(image: Image): void {
    image.restore(this.root)
  }

  start(argv: string[], onStep?: OnStep): LabProcess {
    return this.machine.start(argv, onStep)
  }

  async run(argv: string[], onStep?: OnStep): Promise<LabEnded> {
    const started = this.start(argv, onStep)
    let isHung = false
    const timer = setTimeout(() => {
      isHung = true
      started.kill()
    }, RUN_MS_MAX)
    const ended = await started.ended
    clearTimeout(timer)
    return { ...ended, isHung }
  }

  /** Runs product code as a process. */
  act(work: () => Promise<void>): Promise<Ended> {
    return this.machine.startWork(['act'], work).ended
  }

  /** Replaces a file, or removes it. */
  put(path: string, bytes: Buffer | undefined): void {
    if (bytes === undefined) rmSync(path)
    else writeFileSync(path, bytes, { mode: 0o600 })
  }

  /** Like `run`, but throws if the command fails. For preparations. */
  async do(...argv: string[]): Promise<string> {
    const { status, stdout, stderr } = await this.run(argv)
    if (status !== 0) throw new Error(`substrat ${argv.join(' ')} exited ${status}: ${stderr}`)
    return stdout.trim()
  }
}
