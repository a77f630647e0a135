/** Executes statements for a caller that blocks until the answer is there. */
import { join } from 'node:path'
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { Answer, Failure, HeldLease, Request, Row, WorkerSettings } from './protocol.js'
import { uptimeMs } from './uptime.js'

/** How long a statement without a lease is sent again after a broken connection. */
const PATIENCE_MS = 10_000
const SLOTS = 4096
/** Beside the bundle of this module. */
const WORKER = 'worker.cjs'

export class StatementError extends Error {
  constructor(
    readonly failure: Failure,
    readonly isWrite: boolean,
  ) {
    super(failure.message)
  }
}

type FromWorker = { answer: Answer } | { changed: string }

export class Client {
  /** For each lease, when it ends. The worker moves it. */
  readonly deadlines = new BigInt64Array(new SharedArrayBuffer(8 * SLOTS))
  private readonly answered = new Int32Array(new SharedArrayBuffer(4))
  private readonly port: MessagePort
  private readonly leases = new Map<number, HeldLease>()
  private readonly watchers = new Map<string, Set<() => void>>()

  constructor(
    url: string,
    password: string | undefined,
    readonly ttlMs: number,
  ) {
    const { port1, port2 } = new MessageChannel()
    const { answered, deadlines } = this
    const workerData: WorkerSettings = { port: port2, answered, deadlines, url, password, ttlMs }
    const worker = new Worker(join(__dirname, WORKER), {
      workerData,
      transferList: [port2],
      execArgv: [],
    })
    worker.unref()
    this.port = port1
    port1.on('message', (message: FromWorker) => this.hear(message))
    port1.unref()
  }

  /** The rows of a function's result. `untilMs`: the end of the lease that it needs. */
  call(name: string, values: unknown[], { isWrite = true, untilMs = uptimeMs() + PATIENCE_MS } = {}): Row[] {
    const places = values.map((_, index) => `$${index + 1}`).join(', ')
    const text = `select * from substrat.${name}(${places})`
    const before = Atomics.load(this.answered, 0)
    this.post({ kind: 'statement', statement: { text, values, untilMs } })
    Atomics.wait(this.answered, 0, before)
    for (;;) {
      const received = receiveMessageOnPort(this.port) as { message: FromWorker } | undefined
      if (received === undefined) throw new Error('the worker gave no answer')
      const { message } = received
      if (!('answer' in message)) {
        this.hear(message)
        continue
      }
      if ('failure' in message.answer) throw new StatementError(message.answer.failure, isWrite)
      return message.answer.rows
    }
  }

  read(name: string, ...values: unknown[]): Row[] {
    return this.call(name, values, { isWrite: false })
  }

  /** The single value of each row. */
  list<T>(name: string, ...values: unknown[]): T[] {
    return this.read(name, ...values).map((row) => row[name] as T)
  }

  hold(lease: Omit<HeldLease, 'slot'>, deadlineMs: number): number {
    let slot = 0
    while (this.leases.has(slot)) slot += 1
    if (slot >= SLOTS) throw new Error('this process holds too many leases')
    Atomics.store(this.deadlines, slot, BigInt(Math.round(deadlineMs)))
    this.leases.set(slot, { ...lease, slot })
    this.postLeases()
    return slot
  }

  /** Each renewal of the lease writes its end into the file. */
  writeRenewals(slot: number, file: string): void {
    const held = this.leases.get(slot)
    if (held === undefined) return
    this.leases.set(slot, { ...held, file })
    this.postLeases()
  }

  drop(slot: number): void {
    if (this.leases.delete(slot)) this.postLeases()
  }

  /** Calls back when the agent may have a new request. */
  watch(agentId: string, look: () => void): { close(): void } {
    const looks = this.watchers.get(agentId) ?? new Set()
    this.watchers.set(agentId, looks.add(look))
    this.postWatched()
    return {
      close: () => {
        looks.delete(look)
        if (looks.size === 0) this.watchers.delete(agentId)
        this.postWatched()
      },
    }
  }

  private hear(message: FromWorker): void {
    if (!('changed' in message)) return
    // Not here: the caller may be in the middle of a statement.
    for (const look of this.watchers.get(message.changed) ?? []) setImmediate(look)
  }

  private postLeases(): void {
    this.post({ kind: 'leases', leases: [...this.leases.values()] })
  }

  private postWatched(): void {
    this.post({ kind: 'watch', agents: [...this.watchers.keys()] })
  }

  private post(request: Request): void {
    this.port.postMessage(request)
  }
}

/** The bytes of a column. A message between threads brings them as a Uint8Array. */
export function bytesOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0)
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
