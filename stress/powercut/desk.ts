/** The place where scenarios run: a machine, its own disk (a directory, in memory if possible) and a workspace. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import { Machine } from '../machine/machine.js'
import { withoutWatches } from '../machine/patches.js'
import type { Ended, Fault, LabProcess, OnStep } from '../machine/process.js'
import { pathBeside } from '../support/lab.js'
import { type Image, readImage, writeImage } from './image.js'

/** A scenario takes less than a hundredth of this. */
const RUN_MS_MAX = 20_000
const IN_MEMORY = '/dev/shm'

export class Desk {
  /** The directory of the disk. It holds only the home. */
  readonly disk: string
  readonly home: string
  readonly workspace: string
  readonly machine: Machine
  /** Called before each step of every process. */
  onStep: (operation: Operation) => void = () => undefined
  /** Called after each command, for a replay. */
  onEnd: (argv: string[], ended: Ended) => void = () => undefined
  /** The number of commands so far. */
  commands = 0

  private readonly cwd = process.cwd()

  private constructor(readonly root: string) {
    this.disk = join(root, 'disk')
    this.home = join(this.disk, 'home')
    this.workspace = join(root, 'workspace')
    this.machine = new Machine(this.home)
    this.clear()
  }

  static open(): Desk {
    // Stack traces and file watches take time and are not needed here.
    Error.stackTraceLimit = 3
    withoutWatches()
    return new Desk(mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'substrat-powercut-')))
  }

  close(): void {
    process.chdir(this.cwd)
    rmSync(this.root, { recursive: true, force: true })
  }

  /** Empties the disk and the workspace. */
  clear(): void {
    for (const directory of [this.disk, this.workspace]) {
      rmSync(directory, { recursive: true, force: true })
      mkdirSync(directory)
    }
    this.enter()
  }

  /** Commands run in the workspace. Notes of their tools outside the home are files there, not on the disk. */
  private enter(): void {
    process.chdir(this.workspace)
    for (const name of ['effects', 'outside'])
      symlinkSync(join(this.workspace, name), pathBeside(this.home, name))
  }

  /** Writes the image to the disk and changes the boot id. */
  comeUp(disk: Image, workspace: Image | undefined): void {
    this.machine.powerCut()
    writeImage(this.disk, disk)
    if (workspace !== undefined) writeImage(this.workspace, workspace)
    this.enter()
  }

  /** Writes the image to the disk, as the same boot had it before. */
  resetTo(disk: Image): void {
    writeImage(this.disk, disk)
  }

  image(): Image {
    return readImage(this.disk)
  }

  start(argv: string[], onStep?: OnStep): LabProcess {
    this.commands += 1
    return this.machine.start(argv, this.withTrace(onStep))
  }

  /** Runs product code as a process. */
  act(work: () => Promise<void>): Promise<Ended> {
    return this.machine.startWork(['act'], work, this.withTrace()).ended
  }

  private withTrace(onStep: OnStep = () => undefined): OnStep {
    return (operation, process) => {
      const fault = onStep(operation, process)
      const done = whatHappens(operation, fault)
      if (done !== undefined) this.onStep(done)
      return fault
    }
  }

  async run(argv: string[], onStep?: OnStep): Promise<Ended> {
    const started = this.start(argv, onStep)
    const timer = setTimeout(() => started.kill(), RUN_MS_MAX)
    const ended = await started.ended
    clearTimeout(timer)
    this.onEnd(argv, ended)
    return ended
  }

  /** Replaces a file of the home, or removes it, and syncs that. */
  put(path: string, bytes: Buffer | undefined): void {
    const note = (operation: Pick<Operation, 'name' | 'mode' | 'offset' | 'bytes'>, on = path): void =>
      this.onStep({ point: 'put', path: on, ...operation })
    if (bytes === undefined) {
      note({ name: 'unlink' })
      rmSync(path)
    } else if (existsSync(path)) {
      note({ name: 'truncate', offset: 0 })
      truncateSync(path)
    } else {
      note({ name: 'open', mode: 'create' })
      writeFileSync(path, '', { mode: 0o600 })
    }
    if (bytes !== undefined) {
      note({ name: 'write', offset: 0, bytes })
      writeFileSync(path, bytes, { flag: 'r+' })
      note({ name: 'fsync' })
    }
    note({ name: 'sync_directory' }, dirname(path))
  }
}

/** Returns the part of the step that happens under the fault: nothing, or the start of a write. */
function whatHappens(operation: Operation, fault: Fault): Operation | undefined {
  if (fault === undefined) return operation
  if (!('writtenBytesMax' in fault) || operation.bytes === undefined) return undefined
  return { ...operation, bytes: operation.bytes.subarray(0, fault.writtenBytesMax) }
}
