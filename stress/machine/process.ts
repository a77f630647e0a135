/**
 * A process of the machine: one command of the real CLI, run within this real process, that can be killed at any disk
 * step. Its output and exit status are separate from those of the others.
 *
 * Invariants: a killed process touches nothing: neither the disk nor its descriptors nor its output, and none of its
 * timers fires. Its locks are free at once, because its descriptors are closed.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Operation } from '../../src/host/disk/operation.js'

export type ExitStatus = number | 'killed'

/** The fault at a step: none, an error, a short write, the death of the process, or an error of each close from then on. */
export type Fault =
  | { kill: true }
  | { errno: string }
  | { writtenBytesMax: number }
  | { closesFail: true }
  | undefined

export interface Ended {
  status: ExitStatus
  stdout: string
  stderr: string
}

export type SignalListener = (name: string) => void

export type OnStep = (operation: Operation, process: LabProcess) => Fault

/** Thrown through the code of a killed process. Nothing that the code does meanwhile counts. */
export class Killed extends Error {}

export const running = new AsyncLocalStorage<LabProcess>()

export class LabProcess {
  stdout = ''
  stderr = ''
  exitCode: number | undefined
  isAlive = true
  /** Each close releases the descriptor and returns EIO, as a real kernel does. */
  closesFail = false
  readonly beganAt: number
  readonly descriptors = new Set<number>()
  /** The number of steps taken, including the one at which it was killed. */
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

  /** Ends the process like `process.exit()`, which does not return. */
  endNow(status = this.exitCode ?? 0): never {
    this.exit(status)
    throw new Killed()
  }

  /** Ends the process by an uncaught error. */
  crash(error: unknown): void {
    this.stderr += `${error instanceof Error ? error.stack : String(error)}\n`
    this.exit(this.exitCode ?? 1)
  }

  /** The fault for a step of this process, as its hook decides. */
  step(operation: Operation): { writtenBytesMax: number } | undefined {
    if (!this.isAlive) throw new Killed()
    this.steps += 1
    const fault = this.onStep(operation, this)
    if (fault === undefined) return undefined
    if ('writtenBytesMax' in fault) return fault
    if ('closesFail' in fault) {
      this.closesFail = true
      return undefined
    }
    if ('errno' in fault) throw Object.assign(new Error(`${fault.errno}: injected`), { code: fault.errno })
    this.kill()
    throw new Killed()
  }

  /** Like kill -9: the pending step does not happen. */
  kill(): void {
    this.leave('killed')
  }

  /** Returns true if the process has a handler, as in Node. */
  signal(name: NodeJS.Signals): boolean {
    const listeners = [...(this.onSignal.get(name) ?? [])]
    if (listeners.length === 0) this.kill()
    else running.run(this, () => listeners.forEach((listener) => void this.hear(listener, name)))
    return listeners.length > 0
  }

  /** A listener may end the process, which throws. The caller is the timer of the lab. */
  private hear(listener: SignalListener, name: NodeJS.Signals): void {
    try {
      listener(name)
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
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
