/** Where scenarios are played: a machine, a disk of its own (a directory in memory where there is one) and a workspace. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Operation } from '../../src/host/disk/io.js'
import { Machine } from '../machine/machine.js'
import { withoutWatches } from '../machine/patches.js'
import type { Ended, Fault, LabProcess, OnStep } from '../machine/process.js'
import { type Image, readImage, writeImage } from './image.js'

/** Nothing that a scenario does takes a hundredth of it. */
const RUN_MS_MAX = 20_000
const IN_MEMORY = '/dev/shm'

export class Desk {
  /** The disk: the home is all that is on it. */
  readonly disk: string
  readonly home: string
  readonly workspace: string
  readonly machine: Machine
  /** Told of each step of every process before it happens. */
  onStep: (operation: Operation) => void = () => undefined
  /** Told of each command that has ended: for a replay. */
  onEnd: (argv: string[], ended: Ended) => void = () => undefined
  /** Commands so far. */
  commands = 0

  private constructor(private readonly root: string) {
    this.disk = join(root, 'disk')
    this.home = join(this.disk, 'home')
    this.workspace = join(root, 'workspace')
    this.machine = new Machine(this.home)
    this.clear()
  }

  static open(): Desk {
    // Thousands of errors that nobody reads, and watches that a command does without: both take their time.
    Error.stackTraceLimit = 3
    withoutWatches()
    return new Desk(mkdtempSync(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), 'substrat-powercut-')))
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true })
  }

  /** An empty disk and workspace. */
  clear(): void {
    for (const directory of [this.disk, this.workspace]) {
      rmSync(directory, { recursive: true, force: true })
      mkdirSync(directory)
    }
  }

  /** The disk is that image, under a new start of the kernel. */
  comeUp(disk: Image, workspace: Image | undefined): void {
    this.machine.powerCut()
    writeImage(this.disk, disk)
    if (workspace !== undefined) writeImage(this.workspace, workspace)
  }

  image(): Image {
    return readImage(this.disk)
  }

  start(argv: string[], onStep: OnStep = () => undefined): LabProcess {
    this.commands += 1
    return this.machine.start(argv, (operation, process) => {
      const fault = onStep(operation, process)
      const done = whatHappens(operation, fault)
      if (done !== undefined) this.onStep(done)
      return fault
    })
  }

  async run(argv: string[], onStep?: OnStep): Promise<Ended> {
    const started = this.start(argv, onStep)
    const timer = setTimeout(() => started.kill(), RUN_MS_MAX)
    const ended = await started.ended
    clearTimeout(timer)
    this.onEnd(argv, ended)
    return ended
  }

  /** As `run`, for what must succeed: preparations. */
  async do(...argv: string[]): Promise<Ended> {
    const ended = await this.run(argv)
    if (ended.status !== 0)
      throw new Error(`substrat ${argv.join(' ')} exited ${ended.status}: ${ended.stderr}`)
    return ended
  }

  /** Other bytes stand in a file of the home, for good: no crash did that. */
  spoil(path: string, offset: number, bytes: Buffer): void {
    const fd = openSync(path, 'r+')
    this.onStep({ point: 'spoil', name: 'write', path, offset, bytes })
    writeSync(fd, bytes, 0, bytes.length, offset)
    this.onStep({ point: 'spoil', name: 'fsync', path })
    closeSync(fd)
  }

  /** A file of the home is gone, for good. */
  lose(path: string): void {
    this.onStep({ point: 'lose', name: 'unlink', path })
    rmSync(path)
    this.onStep({ point: 'lose', name: 'sync_directory', path: dirname(path) })
  }

  /** A scenario of the scripted provider, named by the option of an agent. */
  script(name: string, responses: object[]): string[] {
    writeFileSync(join(this.workspace, name), JSON.stringify({ responses }))
    return ['--option', `scenario=${name}`]
  }
}

/** Of a step that meets a fault: nothing, or the beginning of a write. */
function whatHappens(operation: Operation, fault: Fault): Operation | undefined {
  if (fault === undefined) return operation
  if (!('writtenBytesMax' in fault) || operation.bytes === undefined) return undefined
  return { ...operation, bytes: operation.bytes.subarray(0, fault.writtenBytesMax) }
}
