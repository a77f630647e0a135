/** What happens from the prompt until OpenCode is idle again: what it says, uses, asks for, and waits for. */
import type { AgentEvent, JsonObject, ProviderFailure, WaitAsk } from 'substrat/provider'
import { failure } from '../../shared/src/failure.js'
import { failureOfText } from '../../shared/src/program/failure-text.js'
import { objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'
import { failureOfError, isOwnPart } from './messages.js'
import { Permissions } from './permissions.js'
import type { Server } from './server.js'
import { ToolParts } from './tool-parts.js'
import type { TurnWork } from './work.js'

/** Permissions that it asks for at once, for tools that it runs beside one another, are one wait. */
const PARK_MS = 100
/** A model that is to be asked again later than this, or has been asked so often, is substrat's to wait for. */
const RETRY_MS_MAX = 20_000
const RETRIES_MAX = 4
/** What an OpenCode that was aborted because it is to wait has until its server is killed. */
const ABORT_GRACE_MS = 3000

const ID_CHARACTERS_MAX = 200
/** Answers that OpenCode has not taken yet: each holds a connection. */
const UNTAKEN_MAX = 100

/** Refused without a word, OpenCode ends the turn in its middle. */
const DENIED = 'The person whom you asked has denied this.'
const UNANSWERED = 'Nobody is there to answer: decide as you think best.'

export class Following {
  private readonly permissions: Permissions
  private readonly tools: ToolParts
  private readonly timers: NodeJS.Timeout[] = []
  private readonly answers = new Set<string>()
  private readonly textParts = new Set<string>()
  /** The prompt, and what OpenCode puts after it by itself. */
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

  /** What went wrong, as it told it; the answer may not say so, or not yet. */
  get error(): JsonObject | undefined {
    return this.reported
  }

  /** Ends when OpenCode is idle, after it had the prompt. */
  async *untilIdle(events: AsyncIterable<JsonObject>): AsyncGenerator<AgentEvent, void> {
    try {
      for await (const { type, properties } of events) {
        const { sessionID, ...facts } = objectOf(properties) ?? {}
        // Also of the sessions that it opens for agents of its own.
        if (this.untaken > UNTAKEN_MAX || this.parked.length > UNTAKEN_MAX)
          throw failure('crashed', `opencode asks more than ${UNTAKEN_MAX} questions at once`)
        if (type === 'permission.asked') this.permit(facts)
        else if (type === 'question.asked') this.answer(facts)
        // One that names no session may be of this one: it counts where the turn has no other end.
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

  /** It is idle soon after. */
  abort(): void {
    if (!this.isAborted) this.post(`/session/${this.sessionId}/abort`, {})
    this.isAborted = true
  }

  private *event(type: unknown, facts: JsonObject): Iterable<AgentEvent> {
    if (type === 'message.updated') this.message(objectOf(facts.info) ?? {})
    else if (type === 'message.part.updated') yield* this.part(objectOf(facts.part) ?? {})
    else if (type === 'message.part.delta') {
      const text = textOf(facts.delta)
      if (facts.field === 'text' && this.textParts.has(String(facts.partID)) && text)
        yield { type: 'text', text }
    } else if (type === 'session.status') yield* this.status(objectOf(facts.status) ?? {})
  }

  private message({ id, role, parentID, summary }: JsonObject): void {
    const messageId = String(id)
    if (messageId === this.promptId) this.isTaken = true
    const isAnswer = role === 'assistant' && this.prompts.has(String(parentID)) && summary !== true
    if (isAnswer) this.answers.add(messageId)
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
      const told = failureOfText(`opencode: ${said}`, 'overloaded')
      throw failure(told.failure.type, told.message, told.failure.retry_after_ms ?? ms)
    }
    yield { type: 'note', text: `opencode asks the model again in ${Math.ceil(ms / 1000)} s: ${said}` }
  }

  private fail({ error }: JsonObject): void {
    const reason = objectOf(error)
    if (reason === undefined || this.isAborted) return
    // Of the turn before, which was aborted: a server that is kept may tell it late.
    if (!this.isTaken && reason.name === 'MessageAbortedError') return
    this.reported = reason
    // It may come before, after or without the message that has it too, whose text may be worth having.
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

  /** A server that cannot be reached is seen by the end of its events. */
  private post(path: string, body: object): void {
    this.untaken += 1
    const onTaken = (): void => {
      this.untaken -= 1
    }
    this.server.ask('POST', path, body).then(onTaken, onTaken)
  }
}

/** The server is gone, or says no more. */
export class EventsEnded extends Error implements ProviderFailure {
  readonly failure = { type: 'crashed' as const }

  constructor(complaint: string) {
    super(`opencode's server ended before the turn did: ${complaint}`)
  }
}

/** Half a character has no place in a URL, and dots are a path of their own. */
function wellFormed(id: unknown): string {
  return String(id)
    .slice(0, ID_CHARACTERS_MAX)
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/^\.+$/, 'unnamed')
}
