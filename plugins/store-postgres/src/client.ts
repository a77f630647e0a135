/** Calls the functions of the schema, for a caller that blocks until the answer is there. */
import type { StoreKit } from 'substrat/store'
import { applicationName } from './application-name.js'
import { PasswordWanted } from './blocking-connection.js'
import { BlockingExecutor } from './blocking-executor.js'
import type { Executor } from './executor.js'
import { Keeper } from './keeper.js'
import { MailCache } from './mail-cache.js'
import { Prefetched, type PrefetchPlan } from './prefetched.js'
import type { Answer, Failure, Row, Statement } from './protocol.js'
import { targetOf } from './target.js'
import { timeoutMs } from './timeout.js'
import { uptimeMs } from './uptime.js'

/** How long a statement without a lease is sent again after a broken connection. */
const PATIENCE_MS = 10_000
/** The same for the first statement of a process if the server has no room for it, unless the user says how long to wait. */
const FIRST_PATIENCE_MS = 60_000
const GREETING_MS_MAX = 1000
const GREETING_STATEMENTS_MAX = 2
/** No such function; bytes that are not text. */
const WITHOUT_AHEAD = ['42883', '22021']

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
  /** As in Statement. */
  fullUntilMs?: number
  lockUntilMs?: number
}

export class Client {
  readonly keeper: Keeper
  private executor: Executor
  private readonly mailCache = new MailCache()
  private readonly prefetched = new Prefetched()
  private statements = 0
  /** The number of the latest change of this process. */
  lastChange = 0
  /** A statement whose answer no caller has asked for yet. */
  private early: string | undefined
  private begun: Statement | undefined
  private leavesToThread = false
  /** The migration that this process brings into the home. Each of its changes needs it. */
  arrivingBy: string | undefined
  private greeting: { hello: Row | undefined; statement: number; atMs: number } | undefined

  constructor(
    kit: Pick<StoreKit, 'startThread'>,
    url: string,
    password: string | undefined,
    readonly ttlMs: number,
  ) {
    const name = applicationName()
    const { usesTls, socket } = targetOf(url, password, name)
    const keeper = new Keeper(kit, { url, password, applicationName: name, ttlMs, usesTls })
    this.keeper = keeper
    this.executor =
      socket === undefined
        ? keeper.thread()
        : new BlockingExecutor(socket, keeper.deadlines, () => keeper.bootIfDue(), url)
    keeper.onHandOver = () => {
      this.leavesToThread = true
      if (this.begun === undefined) this.leaveToThread()
    }
  }

  /** One connection is enough for a process. Once the thread has one, it executes the statements too. */
  private leaveToThread(): void {
    if (this.executor instanceof BlockingExecutor) this.executor.close()
    this.executor = this.keeper.thread()
    this.leavesToThread = false
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

  /** Sends the first statement of a command. `greeted` with the same arguments gets its answer. */
  beginEarly(key: string | null, plan: PrefetchPlan): void {
    const [name, ...values] = firstCall(key, plan)
    const text = selection(name, values)
    this.early = JSON.stringify([text, values])
    this.begin({ text, values, ...this.endsOf({}) })
  }

  /** The same as `hello`, at the start of a command: reads ahead what its words say. `key`: the folded word. */
  greeted(key: string | null, plan: PrefetchPlan): Row | undefined {
    const [name, ...values] = firstCall(key, plan)
    if (name === 'hello') return this.hello()
    try {
      const rows = this.read(name, ...values)
      this.greet(this.prefetched.put(rows, key, this.statements))
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
    return this.prefetched.take(part, this.statements)
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
    this.mailCache.note(agentId, row, this.statements)
    this.lastChange = Number(row?.change ?? 0)
    return row?.done
  }

  /** The mail and the stop requests of the agent, if the last statement has just brought them. */
  cachedMail(agentId: string): ReturnType<MailCache['of']> {
    return this.mailCache.of(agentId, this.statements)
  }

  private execute(text: string, values: unknown[], { isWrite = true, ...ends }: CallOptions): Row[] {
    const statement: Statement = { text, values, ...this.endsOf(ends) }
    this.statements += 1
    const { early } = this
    this.early = undefined
    const earlyAnswer = early === undefined ? undefined : this.answer()
    const isEarly = early !== undefined && early === JSON.stringify([text, values])
    const answer = (isEarly && earlyAnswer) || this.answerTo(statement)
    if ('failure' in answer) throw new StatementError(answer.failure, isWrite)
    return answer.rows
  }

  /** A statement with a lease stops at the end of the lease. Any other waits for as long as the user says. */
  private endsOf(ends: Omit<CallOptions, 'isWrite'>): Omit<Statement, 'text' | 'values'> {
    const { untilMs } = ends
    // On a full disk no lease is renewed: the rest of the time is for ending the turn.
    if (untilMs !== undefined) return { diskUntilMs: untilMs - this.ttlMs / 4, ...ends, untilMs }
    const now = uptimeMs()
    const patienceMs = timeoutMs(process.argv, process.env)
    const fullMs = patienceMs ?? (this.statements === 0 ? FIRST_PATIENCE_MS : PATIENCE_MS)
    return {
      untilMs: now + PATIENCE_MS,
      fullUntilMs: now + fullMs,
      lockUntilMs: now + (patienceMs ?? PATIENCE_MS),
      ...ends,
    }
  }

  private answerTo(statement: Statement): Answer {
    this.begin(statement)
    return this.answer()
  }

  private begin(statement: Statement): void {
    if (this.leavesToThread) this.leaveToThread()
    this.begun = statement
    this.executor.begin(statement)
  }

  private answer(): Answer {
    const { begun } = this
    try {
      const answer = this.executor.answer()
      this.begun = undefined
      return answer
    } catch (error) {
      this.begun = undefined
      if (!(error instanceof PasswordWanted) || begun === undefined) throw error
      // pg knows every method of authentication.
      this.executor = this.keeper.thread()
      return this.answerTo(begun)
    }
  }

  read(name: string, ...values: unknown[]): Row[] {
    return this.call(name, values, { isWrite: false })
  }

  /** The single value of each row. */
  list<T>(name: string, ...values: unknown[]): T[] {
    return this.read(name, ...values).map((row) => row[name] as T)
  }
}

function firstCall(
  key: string | null,
  { opens, lists }: PrefetchPlan,
): [name: 'hello' | 'begin_with_name' | 'begin_command', ...values: unknown[]] {
  if (key === null && !lists) return ['hello']
  return opens || lists ? ['begin_command', key, opens, lists] : ['begin_with_name', key]
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
