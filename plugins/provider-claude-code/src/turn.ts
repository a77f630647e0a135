/** One turn: claude started, its message given to it, what it says read to the `result`. */
import type { AgentEvent, AgentHost, JsonObject, PrivateFile } from 'substrat/provider'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { type JsonProgram, launchJsonProgram } from '../../shared/src/program/program.js'
import { commandOf } from './command.js'
import { Events, usageOf } from './events.js'
import {
  failureOfEnd,
  failureOfExit,
  failureOfResult,
  failureOfRetry,
  limitOf,
  type Signs,
} from './failure.js'
import type { Permissions } from './permission.js'
import type { ClaudeSettings } from './settings.js'
import { isSessionId } from './state.js'

/** After its result claude writes its transcript and stops what it started. */
const END_GRACE_MS = 3000
/** What was interrupted is written too, but whoever has stopped the turn waits for it. */
const STOPPED_GRACE_MS = 500
/** An interrupted claude ends within milliseconds; one that hangs is terminated. */
const INTERRUPT_GRACE_MS = 700
/** One `can_use_tool` may come with others, which are asked about together. */
const GATHER_ASKS_MS = 100
/** For the result of a turn that was interrupted because it asks; nothing is lost without it. */
const ASK_END_MS = 3000

const SAID_CHARACTERS_MAX = 1024 * 1024

export interface Turn {
  settings: ClaudeSettings
  host: AgentHost
  signal: AbortSignal
  sessionId: string
  resumes: boolean
  /** The uuid of the message in claude's transcript. */
  promptId: string
  prompt: string
  permissions: Permissions
  /** It runs, from now on until `finish`. */
  onProgram(program: JsonProgram): void
  /** Claude has begun another session than it was told to. */
  onSession(sessionId: string): AgentEvent[]
  /** The model says something, and the message of the turn is in the transcript, or on its way there. */
  onAnswer(): AgentEvent[]
  /** What the transcript says of a turn that ended without a result: its reply, if it came to its end. */
  replyInStore(): Promise<string | undefined>
}

export async function* runTurn(turn: Turn): AsyncIterable<AgentEvent> {
  const { settings, host, signal, sessionId, resumes } = turn
  const server = host.tools ?? undefined
  const files: PrivateFile[] = []
  const removeFiles = (): void => {
    for (const file of files.splice(0)) file.remove()
  }
  const write = (name: string, text: string): string => {
    const file = host.privateFile(name, text)
    files.push(file)
    return file.path
  }
  let program: JsonProgram | undefined
  let hasEnded = false
  try {
    const command = commandOf(settings, { sessionId, resumes, server, write })
    const onAbort = (running: JsonProgram): void => running.write(interrupt())
    program = await launchJsonProgram(host, command, { signal, onAbort, abortGraceMs: INTERRUPT_GRACE_MS })
    turn.onProgram(program)
    program.write({
      type: 'user',
      uuid: turn.promptId,
      message: { role: 'user', content: turn.prompt },
      parent_tool_use_id: null,
    })
    const reading = new Reading(turn, program)
    for await (const message of program.messages()) {
      // It has read them by then.
      if (message.type === 'system' && message.subtype === 'init') removeFiles()
      yield* reading.take(message)
      if (message.type !== 'result') continue
      hasEnded = true
      yield* reading.end(message)
      return
    }
    signal.throwIfAborted()
    yield* reading.endWithoutResult()
  } finally {
    await program?.finish(!hasEnded ? 0 : signal.aborted ? STOPPED_GRACE_MS : END_GRACE_MS)
    removeFiles()
  }
}

class Reading {
  private readonly events: Events
  private readonly signs: Signs = { error: undefined, limit: undefined, hasBegun: false, said: '' }
  private isAsking = false

  constructor(
    private readonly turn: Turn,
    private readonly program: JsonProgram,
  ) {
    this.events = new Events(turn.host.tools?.name)
  }

  take(message: JsonObject): AgentEvent[] {
    if (message.type === 'control_request') this.control(message)
    if (message.type === 'system' && message.subtype === 'init') this.signs.hasBegun = true
    if (message.type === 'assistant') this.signs.error = textOf(message.error)
    if (message.type === 'rate_limit_event') this.signs.limit = limitOf(message)
    if (message.type === 'system' && message.subtype === 'api_retry') {
      const hopeless = failureOfRetry(message)
      if (hopeless !== undefined) throw hopeless
    }
    const sessionId = textOf(message.session_id)
    const isOther =
      message.type === 'system' &&
      message.subtype === 'init' &&
      isSessionId(sessionId) &&
      sessionId !== this.turn.sessionId
    const said = this.events.eventsOf(message)
    this.hear(message, said)
    return [
      ...(isOther ? this.turn.onSession(sessionId) : []),
      ...(isOfModel(message) ? this.turn.onAnswer() : []),
      ...said,
    ]
  }

  /** Of the model, since the last tool; for a refusal, whose text is in no reply. */
  private hear(message: JsonObject, events: AgentEvent[]): void {
    if (!isOfModel(message)) return
    for (const event of events) {
      if (event.type === 'tool_started') this.signs.said = ''
      if (event.type === 'text' && this.signs.said.length < SAID_CHARACTERS_MAX) this.signs.said += event.text
    }
  }

  *end(result: JsonObject): Iterable<AgentEvent> {
    const usage = usageOf(result)
    if (usage !== undefined) yield { type: 'usage', usage }
    // Also while it was being asked about: who has stopped the turn does not want to be asked.
    this.turn.signal.throwIfAborted()
    if (this.isAsking) {
      yield* this.wait()
      return
    }
    yield* this.events.unfinishedEvents('it did not end within the turn')
    if (result.is_error === true) throw failureOfResult(result, this.signs)
    const failed = failureOfEnd(result, this.signs)
    if (failed !== undefined) throw failed
    yield { type: 'done', reply: textOf(result.result) ?? '' }
  }

  async *endWithoutResult(): AsyncIterable<AgentEvent> {
    if (this.isAsking) {
      yield* this.wait()
      return
    }
    const exit = await this.program.exited
    const reply = await this.turn.replyInStore()
    yield* this.events.unfinishedEvents('the program ended before it')
    if (reply === undefined)
      throw failureOfExit(exit, await this.program.complaint(), this.turn.settings.command, this.signs)
    yield { type: 'done', reply }
  }

  private *wait(): Iterable<AgentEvent> {
    const { kind, asks } = this.turn.permissions
    yield* this.events.unfinishedEvents('not run: it waits for a person')
    yield { type: 'wait', kind, asks }
  }

  /** Claude asks whether it may use a tool; anything else that it may ask is no affair of ours. */
  private control({ request_id, request }: JsonObject): void {
    const { subtype, ...rest } = objectOf(request) ?? {}
    if (subtype !== 'can_use_tool') {
      const error = `substrat does not answer ${String(subtype)}`
      this.program.write({ type: 'control_response', response: { subtype: 'error', request_id, error } })
      return
    }
    const response = this.turn.permissions.answer(rest)
    if (response !== undefined) {
      this.program.write({ type: 'control_response', response: { subtype: 'success', request_id, response } })
    } else if (!this.isAsking) {
      this.isAsking = true
      setTimeout(() => this.program.write(interrupt()), GATHER_ASKS_MS)
      setTimeout(() => void this.program.finish(0), GATHER_ASKS_MS + ASK_END_MS).unref()
    }
  }
}

/** What claude says in its place, of an API that fails, may be all that there is. */
function isOfModel({ type, message }: JsonObject): boolean {
  return type === 'stream_event' || (type === 'assistant' && objectOf(message)?.model !== '<synthetic>')
}

let interrupts = 0

function interrupt(): object {
  interrupts += 1
  return { type: 'control_request', request_id: `interrupt-${interrupts}`, request: { subtype: 'interrupt' } }
}
