/** Sends a prompt, and handles the agent's messages, tool calls and permission requests until the stop reason. */
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { failure, refusedAfter } from '../../shared/src/failure.js'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { currentModel } from './choices.js'
import type { Connection, Incoming, RequestId } from './connection.js'
import { CANCELLED, Permissions } from './permissions.js'
import { Reply } from './reply.js'
import { ToolCalls } from './tool-calls.js'
import type { Meter } from './usage.js'
import type { TurnWork } from './work.js'

/** Agents run tools in parallel. Requests within this time are one wait. */
const PARK_MS = 100
/** An agent that must wait for the user has this long to end its turn before it is killed. */
const CANCEL_GRACE_MS = 3000
const REPLY_BYTES_MAX = 10 * 1024 * 1024

export type Ended = Extract<AgentEvent, { type: 'done' | 'wait' }>

export class Prompting {
  private readonly calls: ToolCalls
  private readonly permissions: Permissions
  private readonly reply = new Reply(REPLY_BYTES_MAX)
  private readonly unanswered: RequestId[] = []
  private readonly timers: NodeJS.Timeout[] = []
  private isCancelled = false

  constructor(
    private readonly connection: Connection,
    private readonly sessionId: string,
    { host, options, decided }: TurnWork,
    private readonly kill: () => Promise<void>,
    private readonly meter: Meter,
    /** The state with the costs of the meter. */
    private readonly state: () => AgentEvent,
  ) {
    this.calls = new ToolCalls(host.tools?.name)
    this.permissions = new Permissions(options.allow ?? [], this.calls, decided)
  }

  /** `onHeard` can add an event when the agent shows that it has the prompt. */
  async *run(
    prompt: ContentBlock[],
    onHeard: () => AgentEvent | undefined,
  ): AsyncGenerator<AgentEvent, Ended> {
    const call = this.connection.call('session/prompt', { sessionId: this.sessionId, prompt })
    let isHeard = false
    try {
      for (;;) {
        const said = await call.next()
        if (!isHeard && (said.done === true || isAboutPrompt(said.value))) {
          isHeard = true
          const event = onHeard()
          if (event !== undefined) yield event
        }
        if (said.done !== true) yield* this.take(said.value)
        else {
          this.meter.takeTokens(said.value.usage)
          yield* this.meter.event()
          return yield* this.permissions.parked.length > 0 ? this.wait() : this.end(said.value)
        }
      }
    } catch (error) {
      // An agent that ignored the cancel was killed. Its requests are known all the same.
      if (this.permissions.parked.length > 0 && this.isCancelled) return yield* this.wait()
      throw error
    } finally {
      for (const timer of this.timers) clearTimeout(timer)
    }
  }

  /** Asks the agent to end the turn with a stop reason, and refuses its open permission requests. */
  cancel(): void {
    if (!this.isCancelled) this.connection.notify('session/cancel', { sessionId: this.sessionId })
    this.isCancelled = true
    for (const id of this.unanswered.splice(0)) this.connection.answer(id, CANCELLED)
  }

  private *take({ id, method, params }: Incoming): Iterable<AgentEvent> {
    if (id === undefined) {
      // Sessions that the agent opens for its own subagents are not part of the reply.
      if (method === 'session/update' && params.sessionId === this.sessionId)
        yield* this.update(objectOf(params.update) ?? {})
    } else if (method === 'session/request_permission') this.permit(id, params)
    else this.connection.refuse(id)
  }

  private *update(update: JsonObject): Iterable<AgentEvent> {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk': {
        const text = textOf(objectOf(update.content)?.text)
        if (text === undefined || text === '') return
        this.reply.add(text, textOf(update.messageId))
        return yield { type: 'text', text }
      }
      case 'tool_call':
      case 'tool_call_update':
        this.reply.end()
        return yield* this.calls.take(update)
      case 'notice': {
        const said = [textOf(update.title), textOf(update.description)].filter((text) => text)
        if (said.length > 0) yield { type: 'note', text: said.join(': ') }
        return
      }
      case 'usage_update':
        if (!this.meter.takeCost(update)) return
        // Recorded at once, so that recovery can count the costs of a turn that is killed.
        yield this.state()
        return yield* this.meter.event()
      case 'config_option_update': {
        const model = currentModel(update)
        if (model !== undefined) this.meter.takeModel(model)
      }
    }
  }

  private permit(id: RequestId, params: JsonObject): void {
    const verdict = this.isCancelled ? CANCELLED : this.permissions.judge(params)
    if (verdict !== 'park') {
      this.connection.answer(id, verdict)
      return
    }
    this.unanswered.push(id)
    if (this.permissions.parked.length > 1) return
    this.timers.push(
      setTimeout(() => this.cancel(), PARK_MS),
      setTimeout(() => void this.kill(), PARK_MS + CANCEL_GRACE_MS),
    )
  }

  private *wait(): Generator<AgentEvent, Ended> {
    yield* this.calls.end()
    return { type: 'wait', kind: 'approval', asks: this.permissions.parked }
  }

  private *end({ stopReason }: JsonObject): Generator<AgentEvent, Ended> {
    yield* this.calls.end()
    if (this.reply.isCut)
      yield { type: 'note', text: `the reply was longer than ${REPLY_BYTES_MAX} bytes and was truncated` }
    if (stopReason === 'max_tokens') {
      yield {
        type: 'note',
        text: 'the reply is incomplete: the model reached its maximum number of tokens per response',
      }
    }
    if (stopReason === 'end_turn' || stopReason === 'max_tokens')
      return { type: 'done', reply: this.reply.text }
    throw unfinishedError(stopReason, this.reply.text)
  }
}

/** These updates are about the session. They can arrive after the answer that opened it. */
const OF_SESSION = [
  'available_commands_update',
  'config_option_update',
  'current_mode_update',
  'session_info_update',
  'usage_update',
]

function isAboutPrompt({ params }: Incoming): boolean {
  return !OF_SESSION.includes(textOf(objectOf(params.update)?.sessionUpdate) ?? '')
}

function unfinishedError(stopReason: unknown, said: string): Error {
  switch (stopReason) {
    case 'refusal':
      return refusedAfter(said, 'the agent refused the prompt (refusal) and dropped it from its conversation')
    case 'max_turn_requests':
      return failure(
        'crashed',
        'the agent stopped early because it reached its limit of model requests per turn; ' +
          'its conversation is complete, so send it another message',
      )
    case 'cancelled':
      return failure(
        'crashed',
        'the agent reports that the turn was cancelled, but substrat did not cancel it',
      )
    default:
      return failure(
        'invalid_response',
        `the agent stopped for a reason unknown to ACP: ${String(stopReason)}`,
      )
  }
}
