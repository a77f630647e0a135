/**
 * A process of the machine: one command of the real CLI, run within this process of ours, that can be killed at any of its
 * steps on the disk. What it prints and its exit status are kept apart from everybody else's.
 *
 * Invariants: once killed it touches nothing: not the disk, not its descriptors, not its output; none of its timers
 * fires. Its locks are free at once, because its descriptors are closed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operation } from '../../src/host/disk/operation.js'

export type ExitStatus = number | 'killed'

/** What a step does instead of being done: nothing, an error, a shortened write, or the death of the process. */
export type Fault = { kill: true } | { errno: string } | { writtenBytesMax: number } | undefined

export interface Ended {
  status: ExitStatus
  stdout: string
  stderr: string
}

export type SignalListener = (name: string) => void

export type OnStep = (operation: Operation, process: LabProcess) => Fault

/** Thrown through the code of a killed process; nothing that it does on its way counts. */
export class Killed extends Error {}

export const running = new AsyncLocalStorage<LabProcess>()

export class LabProcess {
  stdout = ''
  stderr = ''
  exitCode: number | undefined
  isAlive = true
  readonly beganAt: number
  readonly descriptors = new Set<number>()
  /** Steps that it has taken, the one that it was killed before among them. */
  steps = 0
  readonly ended: Promise<Ended>
  private readonly onSignal = new Map<string, Set<SignalListener>>()
  private end!: (ended: Ended) => void

  constructor(
    readonly argv: string[],
    now: number,
    private readonly onStep: OnStep,
    private readonly closeDescriptor: (fd: number) => void,
  ) {
    this.beganAt = now
    this.ended = new Promise((resolve) => {
      this.end = resolve
    })
  }

  start(work: () => Promise<void>): this {
    running.run(this, () => {
      work().then(
        () => this.exit(this.exitCode ?? 0),
        (error: unknown) => this.crash(error),
      )
    })
    return this
  }

  /** By an error that nobody caught. */
  crash(error: unknown): void {
    this.stderr += `${error instanceof Error ? error.stack : String(error)}\n`
    this.exit(this.exitCode ?? 1)
  }

  /** The fault hook's word on a step of this process. */
  step(operation: Operation): { writtenBytesMax: number } | undefined {
    if (!this.isAlive) throw new Killed()
    this.steps += 1
    const fault = this.onStep(operation, this)
    if (fault === undefined) return undefined
    if ('writtenBytesMax' in fault) return fault
    if ('errno' in fault) throw Object.assign(new Error(`${fault.errno}: injected`), { code: fault.errno })
    this.kill()
    throw new Killed()
  }

  /** As kill -9: whatever it was about to do is not done. */
  kill(): void {
    this.leave('killed')
  }

  /** True where the process listens, as Node would have it. */
  signal(name: NodeJS.Signals): boolean {
    const listeners = [...(this.onSignal.get(name) ?? [])]
    if (listeners.length === 0) this.kill()
    else running.run(this, () => listeners.forEach((listener) => void listener(name)))
    return listeners.length > 0
  }

  listen(name: string, listener: SignalListener): void {
    const listeners = this.onSignal.get(name) ?? new Set<SignalListener>()
    this.onSignal.set(name, listeners.add(listener))
  }

  unlisten(name: string, listener: SignalListener): void {
    this.onSignal.get(name)?.delete(listener)
  }

  private exit(status: number): void {
    if (this.isAlive) this.leave(status)
  }

  private leave(status: ExitStatus): void {
    if (!this.isAlive) return
    this.isAlive = false
    for (const fd of this.descriptors) this.closeDescriptor(fd)
    this.descriptors.clear()
    this.end({ status, stdout: this.stdout, stderr: this.stderr })
  }
}
