/** Executes statements on a Unix socket, in the thread that waits for their answers. */
import { BlockingConnection, ConnectionCut, PasswordWanted, type Wait } from './blocking-connection.js'
import type { Executor } from './executor.js'
import type { Answer, Row, Statement } from './protocol.js'
import { Attempts, noAnswer } from './retry.js'
import { CONNECTING, SlowNote } from './slow-note.js'
import type { SocketTarget } from './target.js'
import { uptimeMs } from './uptime.js'

const CONNECT_MS_MAX = 10_000
/** Most answers come within this time. */
const EAGER_MS = 20
const EAGER_NAP_MS = 0.1
const NAP_MS = 1
const LOOK_MS = 20

type Sent = { wasSent: true } | { wasSent: false; why: unknown }

export class BlockingExecutor implements Executor {
  private connection: BlockingConnection | undefined
  private hasConnected = false
  /** Whether a connection ended before the server had accepted the client. */
  private wasCut = false
  private begun: { statement: Statement; sent: Sent } | undefined
  private note: SlowNote

  /** `deadlines`: as in WorkerSettings. `whileWaiting` is called again and again. */
  constructor(
    private readonly target: SocketTarget,
    private readonly deadlines: BigInt64Array,
    private readonly whileWaiting: () => void,
    private readonly url: string,
  ) {
    this.note = new SlowNote(url)
  }

  begin(statement: Statement): void {
    this.whileWaiting()
    this.note = new SlowNote(this.url)
    this.begun = { statement, sent: this.trySend(statement) }
  }

  /** Throws PasswordWanted if the server asks for a password. */
  answer(): Answer {
    const { begun } = this
    if (begun === undefined) throw new Error('no statement was begun')
    const { statement } = begun
    const attempts = new Attempts(statement)
    for (let { sent } = begun; ; sent = this.trySend(statement)) {
      try {
        return { rows: this.rows(statement, sent) }
      } catch (error) {
        if (error instanceof PasswordWanted) {
          this.close()
          throw error
        }
        const { hasConnected } = this
        const { wasSent } = sent
        if (!hasConnected && !this.wasCut && isCut(error)) {
          this.wasCut = true
          this.close()
          continue
        }
        const { isBroken, failure, pauseMs, untilMs } = attempts.after(error, { wasSent, hasConnected })
        if (isBroken) this.close()
        if (failure !== undefined) return { failure }
        this.note.look((error as Error).message, untilMs)
        nap(pauseMs)
        this.whileWaiting()
      }
    }
  }

  close(): void {
    this.connection?.close()
    this.connection = undefined
  }

  private trySend(statement: Statement): Sent {
    try {
      this.send(statement)
      return { wasSent: true }
    } catch (why) {
      return { wasSent: false, why }
    }
  }

  /**
   * The first statement of a process only reads. It does not wait until the server has accepted the client, unless the server may
   * ask for a password, for which it would take the statement. If the connection then ends, it is not known whether there is a server:
   * the second attempt waits.
   */
  private send({ text, values, slot }: Statement): void {
    const { path, startup, mayNeedPassword } = this.target
    if (this.connection?.isUsable() === false) this.close()
    const wait = this.waiting(slot)
    this.connection ??= BlockingConnection.open(path, startup, wait)
    if (this.hasConnected || this.wasCut || mayNeedPassword) this.awaitReady(this.connection, wait)
    this.connection.send(text, values, wait)
  }

  private rows({ slot }: Statement, sent: Sent): Row[] {
    const { connection } = this
    if (!sent.wasSent) throw sent.why
    if (connection === undefined) throw new Error('the connection is closed')
    const wait = this.waiting(slot)
    this.awaitReady(connection, wait)
    return connection.rows(wait)
  }

  private awaitReady(connection: BlockingConnection, wait: Wait): void {
    connection.awaitReady(wait)
    this.hasConnected = true
  }

  /** A server may never answer. After the end of the lease, which a renewal moves, no answer is awaited. */
  private waiting(slot: number | undefined): Wait {
    const begunMs = performance.now()
    let lookMs = LOOK_MS
    return () => {
      const waitedMs = performance.now() - begunMs
      nap(waitedMs < EAGER_MS ? EAGER_NAP_MS : NAP_MS)
      if (waitedMs < lookMs) return
      lookMs = waitedMs + LOOK_MS
      this.whileWaiting()
      if (slot !== undefined && Number(Atomics.load(this.deadlines, slot)) <= uptimeMs()) throw noAnswer()
      const isConnecting = this.connection?.isReady !== true
      if (isConnecting) this.note.look(CONNECTING, uptimeMs() + CONNECT_MS_MAX - waitedMs)
      if (isConnecting && waitedMs > CONNECT_MS_MAX)
        throw new Error('the server did not accept the connection')
    }
  }
}

function isCut(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return error instanceof ConnectionCut || code === 'ECONNRESET' || code === 'EPIPE'
}

const NEVER = new Int32Array(new SharedArrayBuffer(4))

function nap(ms: number): void {
  Atomics.wait(NEVER, 0, 0, ms)
}
