/** Follows OpenCode's events from the prompt until it is idle again. */
import type { AgentEvent, JsonObject, ProviderFailure, WaitAsk } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { failureOfError, isOwnPart } from './messages.js'
import { Permissions } from './permissions.js'
import type { Server } from './server.js'
import { ToolParts } from './tool-parts.js'
import { usedBy } from './usage.js'
import type { TurnWork } from './work.js'

/** OpenCode runs tools in parallel. Requests within this time are one wait. */
const PARK_MS = 100
/** OpenCode may retry this often, and only if the retry is due this soon. substrat itself waits longer. */
const RETRY_MS_MAX = 20_000
const RETRIES_MAX = 4
/** An OpenCode that must wait for the user has this long to end its turn before its server is killed. */
const ABORT_GRACE_MS = 3000

const ID_CHARACTERS_MAX = 200
/** Limits unanswered requests to OpenCode, each of which holds a connection. */
const UNTAKEN_MAX = 100

/** Without a message, a rejection would end OpenCode's turn. */
const DENIED = 'The user has denied this.'
const UNANSWERED = 'No user is present to answer. Decide by yourself.'

export class Following {
  private readonly permissions: Permissions
  private readonly tools: ToolParts
  private readonly timers: NodeJS.Timeout[] = []
  private readonly answers = new Set<string>()
  private readonly textParts = new Set<string>()
  /** The latest facts of the messages that answer the prompt, summaries included, by id. */
  private readonly said = new Map<string, JsonObject>()
  /** Ids of the prompt and of the messages that OpenCode adds after it. */
  private readonly prompts: Set<string>
  private readonly words: string
  private untaken = 0
  private isTaken = false
  private reported: JsonObject | undefined
  private isAborted = false

  constructor(
    private readonly server: Server,
    private readonly sessionId: string,
    private readonly promptId: string,
    { host, options, decided, prompt }: TurnWork,
  ) {
    this.prompts = new Set([promptId])
    this.words = prompt
    this.tools = new ToolParts(host.tools?.name)
    this.permissions = new Permissions(options.allow ?? [], host.tools?.name, decided)
  }

  get parked(): WaitAsk[] {
    return this.permissions.parked
  }

  /** The error event of the turn. The answer may not have the error, or not yet. */
  get error(): JsonObject | undefined {
    return this.reported
  }

  /** Ends when OpenCode is idle after it received the prompt. */
  async *untilIdle(events: AsyncIterable<JsonObject>): AsyncGenerator<AgentEvent, void> {
    try {
      for await (const { type, properties } of events) {
        const { sessionID, ...facts } = objectOf(properties) ?? {}
        // Requests can also come from the sessions of OpenCode's subagents.
        if (this.untaken > UNTAKEN_MAX || this.parked.length > UNTAKEN_MAX)
          throw failure('crashed', `opencode sent more than ${UNTAKEN_MAX} requests at once`)
        if (type === 'permission.asked') this.permit(facts)
        else if (type === 'question.asked') this.answer(facts)
        // An error without a session can belong to this one. It counts if the turn has no other end.
        if (type === 'session.error' && sessionID === undefined) this.reported ??= objectOf(facts.error)
        if (sessionID !== this.sessionId) continue
        if (type === 'session.idle' && (this.isTaken || this.isAborted)) {
          yield* this.tools.end()
          return
        }
        if (type === 'session.error') this.fail(facts)
        yield* this.event(type, facts)
      }
    } finally {
      for (const timer of this.timers) clearTimeout(timer)
    }
    if (this.isAborted) {
      yield* this.tools.end()
      return
    }
    throw new EventsEnded(await this.server.complaint())
  }

  /** Asks OpenCode to end the turn; it is idle soon after. */
  abort(): void {
    if (!this.isAborted) this.post(`/session/${this.sessionId}/abort`, {})
    this.isAborted = true
  }

  private *event(type: unknown, facts: JsonObject): Iterable<AgentEvent> {
    if (type === 'message.updated') yield* this.message(objectOf(facts.info) ?? {})
    else if (type === 'message.part.updated') yield* this.part(objectOf(facts.part) ?? {})
    else if (type === 'message.part.delta') {
      const text = textOf(facts.delta)
      if (facts.field === 'text' && this.textParts.has(String(facts.partID)) && text)
        yield { type: 'text', text }
    } else if (type === 'session.status') yield* this.status(objectOf(facts.status) ?? {})
  }

  private *message(info: JsonObject): Iterable<AgentEvent> {
    const { id, role, parentID, summary } = info
    const messageId = String(id)
    if (messageId === this.promptId) this.isTaken = true
    if (role !== 'assistant' || !this.prompts.has(String(parentID))) return
    if (summary !== true) this.answers.add(messageId)
    this.said.set(messageId, info)
    // Yielded at once: a turn that is stopped, killed or parked does not read its answer at the end.
    const used = usedBy(objectOf(info.tokens) === undefined ? [] : this.said.values())
    if (used !== undefined) yield { type: 'usage', ...used }
  }

  private *part(part: JsonObject): Iterable<AgentEvent> {
    if (isOwnPart(part, this.words)) this.prompts.add(String(part.messageID))
    if (!this.answers.has(String(part.messageID))) return
    if (part.type === 'text') this.textParts.add(String(part.id))
    if (part.type === 'tool') yield* this.tools.take(part)
  }

  private *status({ type, attempt, message, next }: JsonObject): Iterable<AgentEvent> {
    if (type !== 'retry') return
    const ms = Math.max(0, Number(next) - Date.now())
    const said = textOf(message) ?? 'the model failed'
    if (ms > RETRY_MS_MAX || Number(attempt) > RETRIES_MAX) {
      const told = failureOfText(`opencode: ${said}`, 'server_error')
      throw failure(told.failure.type, told.message, told.failure.retry_after_ms ?? ms)
    }
    yield { type: 'note', text: `opencode retries the model request in ${Math.ceil(ms / 1000)} s: ${said}` }
  }

  private fail({ error }: JsonObject): void {
    const reason = objectOf(error)
    if (reason === undefined || this.isAborted) return
    // A kept server can report the abort of the previous turn late.
    if (!this.isTaken && reason.name === 'MessageAbortedError') return
    this.reported = reason
    // The event can come before, after or without the message that has the same error. The text of that message is
    // still wanted.
    if (this.answers.size === 0) throw failureOfError(reason)
  }

  private permit(request: JsonObject): void {
    const id = encodeURIComponent(wellFormed(request.id))
    if (this.isAborted) return
    const verdict = this.permissions.judge(request)
    if (verdict === 'once') this.post(`/permission/${id}/reply`, { reply: verdict })
    else if (verdict === 'reject') this.post(`/permission/${id}/reply`, { reply: verdict, message: DENIED })
    else if (this.parked.length === 1) {
      this.timers.push(
        setTimeout(() => this.abort(), PARK_MS),
        setTimeout(() => void this.server.stop(0), PARK_MS + ABORT_GRACE_MS),
      )
    }
  }

  private answer({ id, questions }: JsonObject): void {
    this.post(`/question/${encodeURIComponent(wellFormed(id))}/reply`, {
      answers: objectsOf(questions).map(() => [UNANSWERED]),
    })
  }

  /** Errors are ignored: a dead server also ends the events. */
  private post(path: string, body: object): void {
    this.untaken += 1
    const onTaken = (): void => {
      this.untaken -= 1
    }
    this.server.ask('POST', path, body).then(onTaken, onTaken)
  }
}

/** The server's events ended before the turn. */
export class EventsEnded extends Error implements ProviderFailure {
  readonly failure = { type: 'crashed' as const }

  constructor(complaint: string) {
    super(`opencode's server ended before the end of the turn${complaint === '' ? '' : `: ${complaint}`}`)
  }
}

/** A URL cannot hold an unpaired surrogate, and a segment of dots would change the path. */
function wellFormed(id: unknown): string {
  return String(id)
    .slice(0, ID_CHARACTERS_MAX)
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/^\.+$/, 'unnamed')
}
