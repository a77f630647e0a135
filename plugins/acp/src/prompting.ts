/**
 * One prompt: starts the command that sends it, and waits for the end of its turn in the log.
 *
 * Invariants: a message has one key for all attempts, so it is delivered at most once. The outcome of a turn comes from the log,
 * so the prompt also ends if another process ran its turn.
 */
import { flags } from '../../shared/src/face/arguments.js'
import { CHILD_DIED, type Ended } from '../../shared/src/face/commands.js'
import { FaceError } from '../../shared/src/face/face-error.js'
import type { AgentSession } from './agent-session.js'
import type { End, Run } from './history.js'
import type { Stop } from './protocol.js'

const LOOK_MS = 1000
const ATTEMPTS_MAX = 5

export class Prompting {
  private isCancelled = false
  private cancelledRun: string | undefined
  private ended: Ended | undefined
  private attempts = 0

  constructor(
    private readonly session: AgentSession,
    private readonly text: string,
    private readonly key: string,
  ) {}

  async run(): Promise<Stop> {
    const { session, key } = this
    session.ownKeys.add(key.normalize('NFC'))
    session.look()
    session.askAgain()
    const before = this.runNow
    if (before === undefined && !(await this.earlierDecision())) return 'cancelled'
    const isRepeated = before?.end !== undefined && before.end.is !== 'interrupted'
    this.start(this.isAnswer)
    if (!isRepeated) return this.settle()
    return this.repeatedStop()
  }

  cancel(): void {
    this.isCancelled = true
    this.session.stopAsking()
    this.session.wake()
  }

  private get runNow(): Run | undefined {
    const { history, id, parts } = this.session
    return (
      history.runOfKey(this.key) ??
      history.runOfAnswer(this.key) ??
      history.runOfMail(parts.core.idOfKey(id, this.key))
    )
  }

  /** A question waits for this prompt, unless the prompt was already stored as a message. */
  private get isAnswer(): boolean {
    const { history, id, parts } = this.session
    if (history.runOfAnswer(this.key) !== undefined) return true
    if (history.wait?.kind !== 'input' || this.runNow !== undefined) return false
    const { messages } = parts.core.viewInbox(parts.store, id)
    return !messages.some(({ key }) => key === this.key.normalize('NFC'))
  }

  /** An approval comes first: until then, nothing is sent. False if the prompt was cancelled. */
  private async earlierDecision(): Promise<boolean> {
    const { session } = this
    for (;;) {
      const { wait } = session.history
      if (this.isCancelled) return false
      if (wait?.kind !== 'approval') return true
      if (session.undecided === wait.tokenId) throw session.undecidedWhy ?? undecidedError(session.id)
      await session.change(LOOK_MS)
    }
  }

  private start(isAnswer: boolean): void {
    const { session, key } = this
    this.attempts += 1
    this.ended = undefined
    const args = isAnswer
      ? ['answer', session.id, '-', ...flags({ key })]
      : ['send', session.id, '-', ...flags({ key, 'if-busy': 'queue', 'if-waiting': 'queue' })]
    void session.start(args, `${this.text}\n`).ended.then((ended) => {
      this.ended = ended
      session.wake()
    })
  }

  private async settle(): Promise<Stop> {
    const { session } = this
    for (;;) {
      // Order matters: everything that the command wrote before its end is then known.
      const { ended } = this
      if (ended !== undefined) session.look()
      const run = this.runNow
      const stop = this.stopNow(run, ended)
      if (stop !== undefined) return stop
      if (this.isCancelled && run !== undefined) this.cancelRun(run.id)
      if (ended !== undefined && this.isStuck(run, ended)) this.start(this.isAnswer)
      await session.change(LOOK_MS)
    }
  }

  /** Undefined while the turn goes on. */
  private stopNow(run: Run | undefined, ended: Ended | undefined): Stop | undefined {
    // The command continues an interrupted turn itself.
    if (run?.end !== undefined && (run.end.is !== 'interrupted' || ended !== undefined))
      return stopOf(run.end, this.session.id)
    if (run === undefined && ended !== undefined) {
      if (this.isCancelled) return 'cancelled'
      if (ended.error !== undefined && ended.error.code !== CHILD_DIED) throw ended.error
    }
    return this.stopOfWait(run, ended)
  }

  private stopOfWait(run: Run | undefined, ended: Ended | undefined): Stop | undefined {
    const { session } = this
    const { wait } = session.history
    if (wait === undefined || (run === undefined ? ended === undefined : run.id !== wait.runId))
      return undefined
    if (wait.kind === 'approval') {
      // A cancelled turn ends only with its record.
      if (session.undecided !== wait.tokenId || this.isCancelled) return undefined
      if (session.undecidedWhy !== undefined) throw session.undecidedWhy
      return 'cancelled'
    }
    // History shows the question. The next prompt answers it.
    if (wait.kind !== 'input') session.note(waitText(wait, session.id))
    return 'end'
  }

  /** Whether no process runs the message: its command, or the process that would have delivered it, was killed. */
  private isStuck(run: Run | undefined, ended: Ended): boolean {
    const { id, parts } = this.session
    const { agent, holder } = parts.core.showAgent(parts.store, id)
    const state =
      run === undefined && ended.error === undefined ? parts.core.readableState(parts.store, id) : undefined
    const why = state && parts.core.whyStuck(parts.store, state)
    if (why !== undefined && why.code !== 'WAITING' && why.code !== 'NOT_BEFORE')
      throw new FaceError(why.code, `the message is stored: ${why.message}`, why.hint)
    if (holder !== null || agent.status === 'running' || agent.status === 'waiting') return false
    if (this.attempts < ATTEMPTS_MAX) return true
    throw ended.error ?? new FaceError(CHILD_DIED, 'the turn was killed repeatedly', `substrat resume ${id}`)
  }

  private cancelRun(runId: string): void {
    if (this.cancelledRun === runId) return
    this.cancelledRun = runId
    void this.session.cancel().ended.then(({ error }) => {
      if (error !== undefined) this.cancelledRun = undefined
    })
  }

  /** The turn ended before this prompt, which repeats its key: the client gets the same reply. */
  private async repeatedStop(): Promise<Stop> {
    const { session } = this
    while (this.ended === undefined) await session.change(LOOK_MS)
    const { error, results } = this.ended
    const { end } = this.runNow ?? {}
    if (error !== undefined && (error.code === 'KEY_CONFLICT' || end?.is === 'completed')) throw error
    const { reply } = Object(results[0]) as { reply?: string | null }
    if (typeof reply === 'string') session.note(reply)
    return stopOf(end as End, session.id)
  }
}

function undecidedError(id: string): FaceError {
  return new FaceError(
    'WAITING',
    'the agent still waits for approval, so the message was not sent',
    `substrat approve ${id}, or substrat deny ${id}`,
  )
}

function waitText({ kind, notBefore }: { kind: string; notBefore: string | undefined }, id: string): string {
  if (kind === 'budget') return `The budget of the agent is used up: substrat show ${id}`
  return kind === 'not_before'
    ? `The provider limits the agent. It can continue at ${notBefore}: substrat resume ${id}`
    : `The agent waits for a result from elsewhere: substrat show ${id}`
}

function stopOf(end: End, id: string): Stop {
  switch (end.is) {
    case 'completed':
      return end.isCut ? 'length' : 'end'
    case 'cancelled':
      if (end.reason !== 'turn_timeout') return 'cancelled'
      throw new FaceError('TIMED_OUT', 'the turn reached its time limit', `substrat retry ${id}`)
    case 'interrupted':
      throw new FaceError(
        'INTERRUPTED',
        `the turn was interrupted: ${end.reason}`,
        `send another message, or: substrat resume ${id}`,
      )
    default:
      if (end.type === 'refused') return 'refused'
      if (end.type === 'max_steps') return 'steps'
      throw new FaceError(end.type, end.message, `substrat show ${id}`)
  }
}
