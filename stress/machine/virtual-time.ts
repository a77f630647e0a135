/**
 * Time within the machine: the clocks and timers of its processes, driven by one random generator. Time passes at each
 * disk step, and jumps ahead when no process can continue before a timer is due.
 *
 * Invariants: a timer belongs to the process that set it, and does not fire after that process ends. The generator
 * chooses among timers due at the same time. Code outside the machine uses real time.
 */
import { AsyncResource } from 'node:async_hooks'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { clock } from '../../src/clock.js'
import { type LabProcess, running } from './process.js'

const require = createRequire(import.meta.url)
const fs = require('node:fs') as typeof import('node:fs')

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  clearTimeout: globalThis.clearTimeout,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  monotonic: clock.monotonic,
}

/** Up to half a millisecond of jitter, so that timers of equal length do not always fire in the order they were set. */
const JITTER_MS = 0.5
/** The duration of a disk step. */
const STEP_MS_MAX = 0.2

/** No process can continue: none has a timer, and none has ended. */
class Stuck extends Error {}

/** The result of `setTimeout`, with the methods that Node's callers use. */
class Timer {
  dueAt = 0
  constructor(
    readonly fire: () => void,
    /** Null for the lab itself. */
    readonly owner: LabProcess | null,
    readonly everyMs: number | null,
  ) {}

  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

let current: VirtualTime | undefined

export class VirtualTime {
  private sinceStartMs = 0
  private jumpedMs = 0
  private bootedMs = 0
  private readonly timers = new Set<Timer>()

  /** From the constructor on, this is the time of the machine. */
  constructor(
    private readonly random: () => number,
    private readonly epoch: number,
  ) {
    install()
    current = this
  }

  /** Milliseconds since the epoch, by the user's clock. */
  get now(): number {
    return Math.floor(this.epoch + this.sinceStartMs + this.jumpedMs)
  }

  get monotonic(): number {
    return this.sinceStartMs
  }

  get uptime(): number {
    return this.sinceStartMs - this.bootedMs
  }

  boot(): void {
    this.bootedMs = this.sinceStartMs
  }

  /** Sets the clock forward or back. */
  jump(ms: number): void {
    this.jumpedMs += ms
  }

  /** Called at each disk step. */
  pass(): void {
    this.sinceStartMs += this.random() * STEP_MS_MAX
  }

  /** Runs the processes until the promise settles. Throws Stuck if none can continue, or after `maxMs`. */
  async until<T>(promise: Promise<T>, maxMs: number): Promise<T> {
    const end = this.sinceStartMs + maxMs
    let isSettled = false
    const noteSettled = (): void => {
      isSettled = true
    }
    promise.then(noteSettled, noteSettled)
    for (;;) {
      await drain()
      if (isSettled) return promise
      if (this.next() === undefined) await this.untilRealWork(() => isSettled)
      if (isSettled) return promise
      const next = this.next()
      if (next === undefined) throw new Stuck('no process can continue')
      if (next.dueAt > end) throw new Stuck(`not done after ${maxMs} ms`)
      this.fire(next)
    }
  }

  /** A process may wait for real work that this machine does not simulate, such as the loading of a module at its first use. */
  private async untilRealWork(isSettled: () => boolean): Promise<void> {
    for (let waitedMs = 0; waitedMs < REAL_MS_MAX && !isSettled() && this.next() === undefined; waitedMs++)
      await new Promise<void>((resolve) => void real.setTimeout(resolve, 1))
  }

  /** Schedules an action of the lab. The returned function cancels it. */
  after(ms: number, then: () => void): () => void {
    const timer = this.set(then, ms, null, null)
    return () => this.clear(timer)
  }

  set(fire: () => void, ms: number, owner: LabProcess | null, everyMs: number | null): Timer {
    const timer = new Timer(fire, owner, everyMs)
    this.schedule(timer, ms)
    return timer
  }

  clear(timer: Timer): void {
    this.timers.delete(timer)
  }

  private schedule(timer: Timer, ms: number): void {
    timer.dueAt = this.sinceStartMs + Math.max(1, ms) + this.random() * JITTER_MS
    this.timers.add(timer)
  }

  private next(): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.timers) {
      if (timer.owner?.isAlive === false) this.timers.delete(timer)
      else if (first === undefined || timer.dueAt < first.dueAt) first = timer
    }
    return first
  }

  private fire(timer: Timer): void {
    this.sinceStartMs = Math.max(this.sinceStartMs, timer.dueAt)
    this.timers.delete(timer)
    if (timer.everyMs !== null) this.schedule(timer, timer.everyMs)
    timer.fire()
  }
}

/** The kernel has just booted. Otherwise another boot id would belong to a clone of the machine. */
export function restartUptime(): void {
  const bootedAt = real.monotonic()
  if (current === undefined) clock.uptime = () => real.monotonic() - bootedAt
  else current.boot()
}

/** Longer than real work takes. Only a process that is stuck needs all of it. */
const REAL_MS_MAX = 10_000

/** Resolves when nothing can run without a timer. */
async function drain(): Promise<void> {
  for (let round = 0; round < 2; round++) await new Promise((resolve) => real.setImmediate(resolve))
}

let isInstalled = false

function install(): void {
  if (isInstalled) return
  isInstalled = true
  clock.now = () => current?.now ?? Date.now()
  const set = (everyMs: (ms: number) => number | null, realSet: typeof setTimeout | typeof setInterval) =>
    ((callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const owner = running.getStore()
      if (owner === undefined || current === undefined) return realSet(callback, ms, ...args)
      return current.set(AsyncResource.bind(callback.bind(undefined, ...args)), ms, owner, everyMs(ms))
    }) as unknown
  const clear = (realClear: typeof clearTimeout) =>
    ((timer: unknown) => {
      if (timer instanceof Timer) current?.clear(timer)
      else realClear(timer as NodeJS.Timeout)
    }) as unknown
  Object.assign(globalThis, {
    setTimeout: set(() => null, real.setTimeout),
    setInterval: set((ms) => ms, real.setInterval),
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
  })
  clock.uptime = () => (running.getStore() === undefined ? undefined : current?.uptime) ?? real.monotonic()
  clock.monotonic = () =>
    (running.getStore() === undefined ? undefined : current?.monotonic) ?? real.monotonic()
  patchFileTimes()
}

/** Files get the machine's time, since leftovers are judged by their age. */
function patchFileTimes(): void {
  const { openSync, writeSync, futimesSync } = fs
  const stamp = (fd: number): void => {
    if (running.getStore() !== undefined && current !== undefined)
      futimesSync(fd, current.now / 1000, current.now / 1000)
  }
  fs.openSync = ((...args: Parameters<typeof openSync>) => {
    const fd = openSync(...args)
    if (typeof args[1] === 'number' && (args[1] & fs.constants.O_CREAT) !== 0) stamp(fd)
    return fd
  }) as typeof fs.openSync
  fs.writeSync = ((fd: number, ...rest: unknown[]) => {
    const written = (writeSync as (...args: unknown[]) => number)(fd, ...rest)
    stamp(fd)
    return written
  }) as typeof fs.writeSync
  fs.futimesSync = ((fd: number, ...times: [number, number]) =>
    running.getStore() === undefined ? futimesSync(fd, ...times) : stamp(fd)) as typeof fs.futimesSync
  syncBuiltinESMExports()
}
