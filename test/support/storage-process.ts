/** Separate processes that run the storage layer (storage-child.ts) on orders from a test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'
import { reachableCheckout } from './another-user.js'
import type { Order, Report } from './storage-child.js'
import { HANG_MS } from './wait.js'

let bundle = ''
const living = new Set<Child>()

/**
 * Call it once at the top of a test file that starts children. Builds them before, and ends the remaining ones after.
 */
export function useChildren(): void {
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'substrat-test-'))
    bundle = join(directory, 'child.cjs')
    buildSync({
      entryPoints: [join(import.meta.dirname, 'storage-child.ts')],
      outfile: bundle,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      // The path at which the sources look for the native locks. Another user must reach it.
      define: {
        'import.meta.url': JSON.stringify(pathToFileURL(join(reachableCheckout(), 'src/storage/x.js')).href),
      },
    })
    // Children may run as another user.
    chmodSync(directory, 0o755)
  })
  afterAll(async () => {
    await Promise.all([...living].map((child) => child.kill()))
    rmSync(directory, { recursive: true, force: true })
  })
}

export interface ChildOptions {
  /** Words before the script: flags of node, or another program that runs node. */
  command?: readonly string[]
  env?: NodeJS.ProcessEnv
  uid?: number
}

export class Child {
  readonly reports: Report[] = []
  private readonly watchers = new Set<() => void>()
  private hasExited = false

  private constructor(private readonly process: ChildProcess) {
    process.on('message', (report: Report) => {
      this.reports.push(report)
      for (const watcher of this.watchers) watcher()
    })
    process.on('exit', () => {
      this.hasExited = true
      living.delete(this)
      for (const watcher of this.watchers) watcher()
    })
    living.add(this)
  }

  /** Resolves when the child is ready for its first order. */
  static async start(options: ChildOptions = {}): Promise<Child> {
    const [file = process.execPath, ...words] = options.command ?? []
    const user = options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }
    const child = new Child(
      spawn(file, [...words, bundle], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        env: options.env,
        ...user,
      }),
    )
    await child.heard('ready')
    return child
  }

  get pid(): number {
    return this.process.pid as number
  }

  send(order: Order): void {
    this.process.send(order)
  }

  /** Returns the order's result, or throws the child's error. */
  async ask(order: Order): Promise<unknown> {
    const before = this.count('result') + this.count('failed')
    this.send(order)
    await this.until(() => this.count('result') + this.count('failed') > before, order.do)
    const last = this.reports.findLast(({ said }) => said === 'result' || said === 'failed')
    if (last?.said === 'failed') throw last
    return (last as Report & { said: 'result' }).result
  }

  count(said: Report['said']): number {
    return this.reports.filter((report) => report.said === said).length
  }

  heard(said: Report['said'], times = 1): Promise<void> {
    return this.until(() => this.count(said) >= times, said)
  }

  /** Calls back on each report and at the end. The returned function stops that. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher)
    return () => this.watchers.delete(watcher)
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => done(new Error(`no "${what}" of child ${this.pid}`)), HANG_MS)
      const done = (error?: Error): void => {
        clearTimeout(timer)
        unwatch()
        if (error === undefined) resolve()
        else reject(error)
      }
      const look = (): void => {
        if (condition()) done()
        else if (this.hasExited) done(new Error(`child ${this.pid} ended before "${what}"`))
      }
      const unwatch = this.watch(look)
      look()
    })
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  async ended(): Promise<void> {
    if (!this.hasExited) await new Promise((resolve) => this.process.once('exit', resolve))
  }

  /** Sends SIGKILL and resolves when the child is dead. */
  kill(): Promise<void> {
    this.signal('SIGKILL')
    return this.ended()
  }
}

/** The first of them to report this, from now on or already. */
export function firstToSay(children: Child[], said: Report['said']): Promise<Child> {
  return new Promise((resolve, reject) => {
    const stop: (() => void)[] = []
    const settle = (act: () => void): void => {
      clearTimeout(timer)
      for (const each of stop) each()
      act()
    }
    const timer = setTimeout(() => settle(() => reject(new Error(`nobody said "${said}"`))), HANG_MS)
    const look = (): void => {
      const child = children.find((child) => child.count(said) > 0)
      if (child !== undefined) settle(() => resolve(child))
    }
    for (const child of children) stop.push(child.watch(look))
    look()
  })
}
