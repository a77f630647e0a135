/**
 * Runs a sequence in this process. Time, ids, chance and the effects of a power cut all follow from one number, so the
 * same sequence produces the same bytes.
 *
 * Commands that run together interleave where they wait: for a model, a lock or a reply. Within one piece of
 * synchronous code only one process runs; only the real processes test interleavings there.
 */
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Operation } from '../../src/host/disk/operation.js'
import { ownIdentity } from '../../src/host/identity.js'
import { randomUuid } from '../../src/start/random.js'
import { Random } from '../../test/support/random.js'
import { Machine } from '../machine/machine.js'
import { randomBy, withoutSyncs, withoutWatches } from '../machine/patches.js'
import type { Fault, LabProcess } from '../machine/process.js'
import { VirtualTime } from '../machine/virtual-time.js'
import { Disk } from '../powercut/disk.js'
import { readImage, writeImage } from '../powercut/image.js'
import { stepsOf } from '../powercut/trace.js'
import { type Counts, type Host, noCounts, type Planned, type Told } from './host.js'
import { type Left, notifySetting, SimulatedTarget } from './notified.js'
import type { Pace } from './pace.js'
import type { Harm } from './steps.js'

const EPOCH = Date.parse('2026-01-05T00:00:00Z')
/** Longer than the longest turn here, with all its pauses. */
const COMMAND_MS_MAX = 3 * 3600 * 1000
/** The number of latest commands that may have left unsynced data. */
const UNSYNCED_COMMANDS = 4

/** The identity of the one process that runs all simulated processes. */
const IDENTITY = { pid_namespace: '1', pid: 1000, start_time: 1 }

export class MachineHost implements Host {
  readonly counts: Counts = noCounts()
  readonly home: string
  readonly workspace: string
  readonly notify = notifySetting({ url: SimulatedTarget.url })
  private readonly target: SimulatedTarget
  private readonly random: Random
  private readonly time: VirtualTime
  private readonly machine: Machine
  private disk: Disk | undefined
  private commandsOnDisk = 0
  /** Persisting steps of the last command of each name. */
  private readonly usual = new Map<string, number>()

  constructor(
    directory: string,
    salt: number,
    readonly pace: Pace,
  ) {
    rmSync(directory, { recursive: true, force: true })
    this.home = join(directory, 'home')
    this.workspace = join(directory, 'workspace')
    mkdirSync(this.home, { recursive: true, mode: 0o700 })
    mkdirSync(this.workspace)
    writeFileSync(join(this.workspace, 'notes.txt'), 'notes\n')
    this.machine = new Machine(this.home)
    this.random = new Random(salt)
    const chance = (): number => this.random.next()
    this.time = new VirtualTime(chance, EPOCH)
    this.target = new SimulatedTarget(chance)
    withoutWatches()
    withoutSyncs()
    randomBy(chance)
    Object.assign(ownIdentity(), IDENTITY, { kernel_boot_id: randomUuid() })
  }

  async run(planned: Planned[]): Promise<Told[]> {
    if (this.commandsOnDisk++ % UNSYNCED_COMMANDS === 0) this.disk = undefined
    const all = Promise.all(planned.map((each) => this.start(each)))
    return this.time.until(all, COMMAND_MS_MAX)
  }

  left(): Left[] {
    return this.target.left
  }

  now(): number {
    return this.time.now
  }

  jump(ms: number): void {
    if (ms === 0) return
    this.counts.clockJumps += 1
    this.time.jump(ms)
  }

  /** The simulated machine runs no programs. */
  leftBehind(): number[] {
    return []
  }

  powerCut(): void {
    this.counts.powerCuts += 1
    const disk = this.diskNow()
    writeImage(
      this.home,
      disk.image(({ options }) => this.random.pick([...options])),
    )
    this.disk = undefined
    this.machine.powerCut()
    const now = this.time.now / 1000
    for (const path of readImage(this.home).keys()) utimesSync(join(this.home, path), now, now)
  }

  private diskNow(): Disk {
    this.disk ??= Disk.of(readImage(this.home))
    return this.disk
  }

  private async start({ argv, harm, startMs }: Planned): Promise<Told> {
    if (startMs > 0) await new Promise<void>((resolve) => this.time.after(startMs, resolve))
    this.counts.commands += 1
    this.diskNow()
    const [name = ''] = argv
    const watch = new HarmDone(harm, this.counts, this.usual.get(name) ?? USUAL_PERSISTING, () =>
      this.powerCut(),
    )
    const process = this.machine.start(argv, (operation) => this.step(operation, watch))
    const cancel = watch.later(process, (ms, then) => this.time.after(ms, then))
    const { status, stdout, stderr } = await process.ended
    cancel()
    if (!watch.isDone && status === 0) this.usual.set(name, watch.persisting)
    return { argv, status, stdout, stderr, isHarmed: watch.isDone || status === 'killed' }
  }

  private step(operation: Operation, watch: HarmDone): Fault {
    this.time.pass()
    const disk = this.diskNow()
    const steps = stepsOf(operation, this.home, disk)
    if (steps.length === 0) return undefined
    const fault = watch.faultAt(operation)
    if (fault !== undefined && ('kill' in fault || 'errno' in fault)) return fault
    const isShort = fault !== undefined && 'writtenBytesMax' in fault
    const writtenBytesMax = isShort ? fault.writtenBytesMax : Number.POSITIVE_INFINITY
    for (const step of steps)
      disk.apply(
        step.bytes === undefined ? step : { ...step, bytes: step.bytes.subarray(0, writtenBytesMax) },
      )
    return fault
  }
}

/** The assumed number for a command that has not run yet. */
const USUAL_PERSISTING = 8
/** After one of these steps its target is on the disk, or visible to other processes. */
const PERSISTS = new Set(['fsync', 'fdatasync', 'sync_directory', 'rename', 'link', 'unlink'])
const NEEDS_SPACE = new Set([
  'open',
  'write',
  'mkdir',
  'link',
  'rename',
  'fsync',
  'fdatasync',
  'sync_directory',
])

/** The fault planned for one process, and whether it happened. */
class HarmDone {
  isDone = false
  persisting = 0
  private changes = 0

  constructor(
    private readonly harm: Harm | null,
    private readonly counts: Counts,
    private readonly usual: number,
    private readonly cutPower: () => void,
  ) {}

  /** Called at each step that changes the disk. */
  faultAt({ name, bytes }: Operation): Fault {
    this.changes += 1
    // The kill comes one step later: the persisting step is on the disk, and no later one.
    const isAfter = this.persisting >= this.persistingMax
    if (PERSISTS.has(name)) this.persisting += 1
    const { harm } = this
    if (harm?.harm === 'kill_persisting' && !this.isDone) {
      if (harm.isAfter ? !isAfter : this.persisting < this.persistingMax) return undefined
      this.noteDone('kills')
      return { kill: true }
    }
    if (harm === null || this.isDone || !('at' in harm) || this.changes < harm.at) return undefined
    switch (harm.harm) {
      case 'kill':
        this.noteDone('kills')
        return { kill: true }
      case 'cut':
        this.isDone = true
        this.cutPower()
        return { kill: true }
      case 'fault':
        if (harm.errno !== 'EIO' && !NEEDS_SPACE.has(name)) return undefined
        this.noteDone('faults')
        return { errno: harm.errno }
      case 'short_write':
        if (bytes === undefined || bytes.length < 2) return undefined
        this.counts.faults += 1
        this.isDone = true
        return { writtenBytesMax: Math.floor(bytes.length / 2) }
    }
  }

  private get persistingMax(): number {
    const { harm } = this
    return harm?.harm === 'kill_persisting'
      ? 1 + Math.floor((harm.sharePercent / 100) * this.usual)
      : Number.POSITIVE_INFINITY
  }

  /** Arms a timed fault, unless the process has ended by then. The returned function disarms it. */
  later(process: LabProcess, after: (ms: number, then: () => void) => () => void): () => void {
    const { harm } = this
    if (harm?.harm !== 'kill_later' && harm?.harm !== 'signal') return () => undefined
    return after(harm.ms, () => {
      if (!process.isAlive) return
      if (harm.harm === 'kill_later') {
        this.noteDone('kills')
        process.kill()
      } else {
        this.noteDone('signals')
        process.signal(harm.name)
      }
    })
  }

  private noteDone(what: 'kills' | 'faults' | 'signals'): void {
    this.isDone = true
    this.counts[what] += 1
  }
}
