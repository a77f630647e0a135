/**
 * One agent as a session of a client: shows what its log has and gets, and asks for the decisions that it waits for.
 *
 * Invariants: the log is the only source, so turns of other processes are shown in the same way, and nothing is lost with this
 * process. An approval is asked for while a client is there. Only an answer of a person decides it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { CHILD_DIED, type Commands, type Running } from '../../shared/src/face/commands.js'
import type { Core, Position, Store } from '../../shared/src/face/core.js'
import { FaceError } from '../../shared/src/face/face-error.js'
import type { StreamLine } from '../../shared/src/face/output.js'
import { type Event, History, type Wait } from './history.js'
import { LiveText } from './live.js'
import type { Client } from './protocol.js'

const PAGE = { records: 200, bytes: 256 * 1024, isFollowing: true as const }
const LOOK_MS = 100
const CANCEL_MS = 50
/** How often a command that was killed is started again. */
const RESTARTS_MAX = 3

export interface Parts {
  core: Core
  store: Store
  commands: Commands
  client: Client
}

export class AgentSession {
  readonly history: History
  /** The keys of the messages that the client sent, and shows itself. */
  readonly ownKeys = new Set<string>()
  /** The token of a wait that the client could not decide. */
  undecided: string | undefined
  /** The error of a decision that was not recorded. */
  undecidedWhy: FaceError | undefined
  private from: Position = { seq: 1, offset: 0 }
  private readonly live = new LiveText()
  private shown: Promise<void> = Promise.resolve()
  private isShown = false
  /** The latest record that a command of this process printed. */
  private printedSeq = 0
  private asking: { tokenId: string; over: AbortController } | undefined
  private failure: unknown
  private waiters: (() => void)[] = []
  private timer: NodeJS.Timeout | undefined

  constructor(
    readonly id: string,
    readonly parts: Parts,
  ) {
    const { core, store } = parts
    this.history = new History(
      (content) => core.readText(store, id, content),
      core.ownRecordsFrom(store, id).seq,
    )
  }

  /** Reads the log to its end, and shows it if `isReplayed`. */
  async open(isReplayed: boolean): Promise<void> {
    this.isShown = isReplayed
    while (this.readOn()) await this.shown
    this.isShown = true
    this.timer ??= setInterval(() => this.look(), LOOK_MS)
  }

  /** Asks for an open decision. */
  begin(): void {
    this.askForDecision()
  }

  /** Shows and asks nothing more. */
  hide(): void {
    this.isShown = false
    this.asking?.over.abort()
  }

  close(): void {
    this.hide()
    clearInterval(this.timer)
  }

  /** Whether a turn runs that does not wait for a decision. */
  get isRunning(): boolean {
    return this.history.open !== undefined && this.history.wait === undefined
  }

  /** Starts a command for the agent, and shows the live text of its turns. */
  start(args: string[], input?: string): Running {
    const running = this.parts.commands.start([...args, '--json', '--stream'], {
      input,
      onLine: (line) => this.hear(line),
    })
    void running.ended.then(() => this.look())
    return running
  }

  /** Cancels the turn of the agent. */
  cancel(): Running {
    return this.parts.commands.start(['cancel', this.id, '--json'])
  }

  /** Reads what is new. */
  look(): void {
    if (this.failure !== undefined) return
    try {
      while (this.readOn());
      this.askForDecision()
    } catch (error) {
      this.failure = error
    }
    this.wake()
  }

  /** Resolves when the log may have grown, or after `ms`. Throws if the log cannot be read. */
  async change(ms: number): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.waiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    if (this.failure !== undefined) throw this.failure
  }

  wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter()
  }

  /** Shows a text that the log does not have. */
  note(text: string): void {
    this.shown = this.parts.client.agent(this.id, `note.${this.from.seq}`, text)
  }

  /** The next prompt asks again for a decision that was left open. */
  askAgain(): void {
    this.undecided = undefined
    this.undecidedWhy = undefined
    this.askForDecision()
  }

  /** Leaves the decision open. */
  stopAsking(): void {
    if (this.asking === undefined) return
    this.undecided = this.asking.tokenId
    this.asking.over.abort()
  }

  /** Returns whether there may be more. */
  private readOn(): boolean {
    const { core, store } = this.parts
    if (core.logSize(store, this.id) <= this.from.offset) return false
    const { records, next } = core.readPage(store, this.id, this.from, PAGE)
    for (const record of records)
      for (const event of this.history.take(core.entryOf(record))) this.show(event)
    this.from = next
    return records.length > 0
  }

  private hear(line: StreamLine): void {
    if (line.agent !== this.id || !this.isShown) return
    if (line.partial !== true) {
      this.printedSeq = Math.max(this.printedSeq, line.seq ?? 0)
      this.look()
    } else if (typeof line.content === 'string' && this.from.seq - 1 <= this.printedSeq)
      this.speak(line.run_id ?? '', line.content)
    // Otherwise the log was read further than this command's output. The record of the message shows its text.
  }

  private speak(runId: string, text: string): void {
    const messageId = messageIdOf(runId, this.history.part(runId))
    this.live.add(messageId, text)
    this.shown = this.parts.client.agent(this.id, messageId, text)
  }

  private show(event: Event): void {
    if (!this.isShown) return
    const { client } = this.parts
    switch (event.type) {
      case 'user':
        if (!this.isOwn(event)) this.shown = client.user(this.id, event.id, event.text)
        return
      case 'agent': {
        const messageId = messageIdOf(event.runId, event.part)
        const rest = this.live.rest(messageId, event.text)
        if (rest !== '') this.shown = client.agent(this.id, messageId, rest)
        return
      }
      case 'call':
        this.shown = client.call(this.id, event.call, event.isRunning)
        return
      case 'progress':
        this.shown = client.progress(this.id, event.id, event.status, event.output)
    }
  }

  private isOwn({ id, key }: Extract<Event, { type: 'user' }>): boolean {
    if (key !== undefined) return this.ownKeys.has(key)
    return [...this.ownKeys].some((own) => this.parts.core.idOfKey(this.id, own) === id)
  }

  private askForDecision(): void {
    const { wait } = this.history
    if (this.asking !== undefined && this.asking.tokenId !== wait?.tokenId) {
      // Another process decided.
      this.asking.over.abort()
      this.asking = undefined
    }
    if (!this.isShown || wait?.kind !== 'approval' || wait.tokenId === undefined) return
    if (this.asking !== undefined || this.undecided === wait.tokenId) return
    const asking = { tokenId: wait.tokenId, over: new AbortController() }
    this.asking = asking
    void this.ask(wait, wait.tokenId, asking.over.signal)
      .catch((error: unknown) => this.leave(asking.tokenId, error))
      .finally(() => {
        if (this.asking === asking) this.asking = undefined
        this.look()
      })
  }

  private async ask(wait: Wait, tokenId: string, signal: AbortSignal): Promise<void> {
    const { core, store, client } = this.parts
    const pending = core.pendingCalls(store, this.id)
    if (pending?.token_id !== tokenId) return
    await this.shown
    let isAlways = true
    for (const [index, call] of pending.calls.entries()) {
      const id = wait.calls[index] ?? `${tokenId}.${index}`
      const verdict = await client.permit(this.id, { id, ...call }, signal)
      if (signal.aborted) return
      if (verdict === 'undecided') {
        // A client that cancels the turn also closes the request, and the SDK may deliver both in either order.
        await sleep(CANCEL_MS)
        return this.leave(tokenId)
      }
      // One decision covers all calls.
      if (verdict === 'denied') return this.decide(['deny', this.id, tokenId])
      if (verdict === 'once') isAlways = false
    }
    const approve = ['approve', this.id, tokenId]
    await this.decide(isAlways ? [...approve, '--always'] : approve, approve)
  }

  /** `lesser`: the decision for calls that cannot be allowed for ever. Repeating a decision returns its first outcome. */
  private async decide(args: string[], lesser = args): Promise<void> {
    for (let restarts = 0; ; restarts += 1) {
      const { error } = await this.start(args).ended
      if (error === undefined) return
      this.look()
      if (this.history.wait?.tokenId !== args[2]) return
      if (error.code === 'USAGE' && lesser !== args) return this.decide(lesser)
      if (error.code !== CHILD_DIED || restarts === RESTARTS_MAX) return this.leave(args[2] as string, error)
    }
  }

  private leave(tokenId: string, error?: unknown): void {
    this.undecided = tokenId
    this.undecidedWhy = error instanceof FaceError ? error : undefined
    this.wake()
  }
}

function messageIdOf(runId: string, part: number): string {
  return `${runId}.${part}`
}
