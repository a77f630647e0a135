/** Executes statements for a caller that blocks until the answer is there. */
import { join } from 'node:path'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { StoreKit } from 'substrat/store'
import { Ahead, type Wish } from './ahead.js'
import { Looked } from './looked.js'
import type { Answer, Failure, HeldLease, Request, Row, Statement, WorkerSettings } from './protocol.js'
import { uptimeMs } from './uptime.js'

/** How long a statement without a lease is sent again after a broken connection. */
const PATIENCE_MS = 10_000
const SLOTS = 4096
const GREETING_MS_MAX = 1000
const GREETING_STATEMENTS_MAX = 2
/** No such function; bytes that are not text. */
const WITHOUT_AHEAD = ['42883', '22021']
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

export interface CallOptions {
  isWrite?: boolean
  /** The end of the lease that it needs, and its slot in `deadlines`. */
  untilMs?: number
  slot?: number
}

type FromWorker = { answer: Answer } | { changed: string }

export class Client {
  /** For each lease, when it ends. The worker moves it. */
  readonly deadlines = new BigInt64Array(new SharedArrayBuffer(8 * SLOTS))
  private readonly answered = new Int32Array(new SharedArrayBuffer(4))
  private readonly port: MessagePort
  private readonly leases = new Map<number, HeldLease>()
  private readonly looked = new Looked()
  private readonly ahead = new Ahead()
  private statements = 0
  /** A statement whose answer no caller has asked for yet. */
  private early: { call: string; before: number } | undefined
  /** An answer that came while the event loop turned. */
  private heard: Answer | undefined
  /** The migration that this process brings into the home. Each of its changes needs it. */
  arrivingBy: string | undefined
  private greeting: { hello: Row | undefined; statement: number; atMs: number } | undefined
  private readonly watchers = new Map<string, Set<() => void>>()

  constructor(
    kit: Pick<StoreKit, 'startThread'>,
    url: string,
    password: string | undefined,
    readonly ttlMs: number,
  ) {
    const { port1, port2 } = new MessageChannel()
    const { answered, deadlines } = this
    const settings: WorkerSettings = { port: port2, answered, deadlines, url, password, ttlMs }
    kit.startThread(join(__dirname, WORKER), settings, [port2])
    this.port = port1
    port1.on('message', (message: FromWorker) => this.hear(message))
    port1.unref()
  }

  /** The rows of a function's result. */
  call(name: string, values: unknown[], options: CallOptions = {}): Row[] {
    const { arrivingBy } = this
    if (arrivingBy === undefined || options.isWrite === false)
      return this.execute(selection(name, values), values, options)
    const fence = `substrat.assert_arriving($${values.length + 1})`
    const text = `select called.* from ${fence} fence, lateral ${invocation(name, values)} called`
    return this.execute(text, [...values, arrivingBy], options)
  }

  /** The facts of the home. A command opens its home several times at its start: they are read once. */
  hello(): Row | undefined {
    const { greeting } = this
    const isFresh =
      greeting !== undefined &&
      this.statements - greeting.statement <= GREETING_STATEMENTS_MAX &&
      performance.now() - greeting.atMs < GREETING_MS_MAX
    if (isFresh) return greeting.hello
    const [hello] = this.read('hello')
    this.greet(hello)
    return hello
  }

  /** Sends the first statement of a command. `begin` with the same arguments gets its answer. */
  beginEarly(key: string | null, wish: Wish): void {
    const [name, ...values] = firstCall(key, wish)
    const text = selection(name, values)
    this.early = {
      call: JSON.stringify([text, values]),
      before: this.send({ text, values, untilMs: uptimeMs() + PATIENCE_MS }),
    }
  }

  /** The same as `hello`, at the start of a command: reads ahead what its words say. `key`: the folded word. */
  begin(key: string | null, wish: Wish): Row | undefined {
    const [name, ...values] = firstCall(key, wish)
    if (name === 'hello') return this.hello()
    try {
      const rows = this.read(name, ...values)
      this.greet(this.ahead.put(rows, key, this.statements))
    } catch (error) {
      // An older schema, or a damaged snapshot: without reading ahead, the command says what is wrong.
      if (!(error instanceof StatementError && WITHOUT_AHEAD.includes(error.failure.code))) throw error
    }
    return this.hello()
  }

  private greet(hello: Row | undefined): void {
    this.greeting = { hello, statement: this.statements, atMs: performance.now() }
  }

  /** A part that the first statement has read, if no other statement came since. */
  takeAhead<T>(part: string): T | undefined {
    return this.ahead.take(part, this.statements)
  }

  /** Like `read`, or a part that the first statement has read. */
  readOnce(part: string, name: string, ...values: unknown[]): Row[] {
    return this.takeAhead<Row[]>(part) ?? this.read(name, ...values)
  }

  /** After a change of the settings. */
  forgetHello(): void {
    this.greeting = undefined
  }

  /** Calls a function. The answer brings the facts that the agent's holder asks for next: `lookedAt`. Returns the function's result. */
  callAndLook(agentId: string, name: string, values: unknown[], options: CallOptions = {}): unknown {
    const look = `substrat.look($${values.length + 1}, done::text)`
    const text = `select done, look.* from ${invocation(name, values)} done, lateral ${look} look`
    const [row] = this.execute(text, [...values, agentId], options)
    this.looked.note(agentId, row, this.statements)
    return row?.done
  }

  /** The mail and the stop requests of the agent, if the last statement has just brought them. */
  lookedAt(agentId: string): ReturnType<Looked['of']> {
    return this.looked.of(agentId, this.statements)
  }

  private execute(
    text: string,
    values: unknown[],
    { isWrite = true, untilMs = uptimeMs() + PATIENCE_MS, slot }: CallOptions,
  ): Row[] {
    this.statements += 1
    const { early } = this
    this.early = undefined
    const isEarly = early !== undefined && early.call === JSON.stringify([text, values])
    const earlyAnswer = early === undefined ? undefined : this.answerAfter(early.before)
    const answer = (isEarly && earlyAnswer) || this.answerAfter(this.send({ text, values, untilMs, slot }))
    if ('failure' in answer) throw new StatementError(answer.failure, isWrite)
    return answer.rows
  }

  /** Returns the number of answers before this one. */
  private send(statement: Statement): number {
    const before = Atomics.load(this.answered, 0)
    this.post({ kind: 'statement', statement })
    return before
  }

  private answerAfter(before: number): Answer {
    // The worker counts an answer first and wakes the caller then. It may be so late that it wakes the wait for the next answer.
    while (Atomics.load(this.answered, 0) === before) Atomics.wait(this.answered, 0, before)
    for (;;) {
      const { heard } = this
      this.heard = undefined
      if (heard !== undefined) return heard
      const received = receiveMessageOnPort(this.port) as { message: FromWorker } | undefined
      if (received === undefined) throw new Error('the worker gave no answer')
      this.hear(received.message)
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
    if ('answer' in message) {
      this.heard = message.answer
      return
    }
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

function firstCall(
  key: string | null,
  { opens, lists }: Wish,
): [name: 'hello' | 'begin_command', ...values: unknown[]] {
  return key === null && !lists ? ['hello'] : ['begin_command', key, opens, lists]
}

function selection(name: string, values: unknown[]): string {
  return `select * from ${invocation(name, values)}`
}

function invocation(name: string, values: unknown[]): string {
  return `substrat.${name}(${values.map((_, index) => `$${index + 1}`).join(', ')})`
}

/** The bytes of a column. A message between threads brings them as a Uint8Array. */
export function bytesOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0)
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
