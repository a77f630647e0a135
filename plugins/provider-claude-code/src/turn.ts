/** Runs one turn: starts claude, sends the prompt, and reads its output up to the `result`. */
import type { AgentEvent, AgentHost, Inspection, JsonObject, PrivateFile } from 'substrat/provider'
import { objectOf, textOf } from '../../shared/src/program/json.js'
import { type JsonProgram, launchJsonProgram } from '../../shared/src/program/program.js'
import { commandOf } from './command.js'
import { Events } from './events.js'
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
import { usageOf } from './usage.js'

/** Time to write its transcript and stop its children after the `result`. */
const END_GRACE_MS = 3000
/** The same for a stopped turn: shorter, because the command that stopped it waits. */
const STOPPED_GRACE_MS = 500
/** A claude that has not ended this long after the interrupt hangs and is terminated. */
const INTERRUPT_GRACE_MS = 700
/** Claude can send several `can_use_tool` at once. Requests within this time are one wait. */
const GATHER_ASKS_MS = 100
/** Time for the `result` of a turn that was interrupted for the user. Nothing is lost without it. */
const ASK_END_MS = 3000

const SAID_CHARACTERS_MAX = 1024 * 1024

export interface Turn {
  settings: ClaudeSettings
  host: AgentHost
  signal: AbortSignal
  sessionId: string
  resumes: boolean
  /** The uuid of the prompt in claude's transcript. */
  promptId: string
  prompt: string
  permissions: Permissions
  /** Called when the program has started; it runs until `finish`. */
  onProgram(program: JsonProgram): void
  /** Called when claude reports another session id than the requested one. */
  onSession(sessionId: string): AgentEvent[]
  /** Called when the model answers: the transcript now has the prompt, or soon will. */
  onAnswer(): AgentEvent[]
  /** The turn in the transcript, for a turn that ended without a `result`. */
  stored(): Promise<Inspection>
}

export async function* runTurn(turn: Turn): AsyncIterable<AgentEvent> {
  const { settings, host, signal, sessionId, resumes } = turn
  const server = host.tools?.name
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
    const command = commandOf(settings, { sessionId, resumes, budgetUsd: host.budgetUsd, server, write })
    const onAbort = (running: JsonProgram): void => running.write(interrupt())
    program = await launchJsonProgram(host, command, { signal, onAbort, abortGraceMs: INTERRUPT_GRACE_MS })
    turn.onProgram(program)
    if (server !== undefined) program.write(offerServer(server))
    program.write({
      type: 'user',
      uuid: turn.promptId,
      message: { role: 'user', content: turn.prompt },
      parent_tool_use_id: null,
    })
    const reading = new Reading(turn, program)
    for await (const message of program.messages()) {
      // Claude has read the files by now.
      if (message.type === 'system' && message.subtype === 'init') removeFiles()
      yield* reading.take(message)
      if (message.type !== 'result') continue
      hasEnded = true
      yield* reading.end(message)
      return
    }
    // Read the transcript only after every process that writes to it has ended.
    await program.finish(signal.aborted ? 0 : END_GRACE_MS)
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

  /** Collects the model's text since the last tool call, for a refusal, which has no reply. */
  private hear(message: JsonObject, events: AgentEvent[]): void {
    if (!isOfModel(message)) return
    for (const event of events) {
      if (event.type === 'tool_started') this.signs.said = ''
      if (event.type === 'text' && this.signs.said.length < SAID_CHARACTERS_MAX) this.signs.said += event.text
    }
  }

  *end(result: JsonObject): Iterable<AgentEvent> {
    const used = usageOf(result)
    if (used !== undefined) yield { type: 'usage', ...used }
    // Also if a request is pending: the user has stopped the turn and must not be asked.
    this.turn.signal.throwIfAborted()
    if (this.isAsking) {
      yield* this.wait()
      return
    }
    yield* this.events.unfinishedEvents('still running when the turn ended')
    if (result.is_error === true) throw failureOfResult(result, this.signs)
    const failed = failureOfEnd(result, this.signs)
    if (failed !== undefined) throw failed
    yield { type: 'done', reply: textOf(result.result) ?? '' }
  }

  async *endWithoutResult(): AsyncIterable<AgentEvent> {
    const stored = await this.turn.stored()
    const { usage, models } = stored
    if (usage !== undefined) yield { type: 'usage', usage, ...(models && { models }) }
    this.turn.signal.throwIfAborted()
    if (this.isAsking) {
      yield* this.wait()
      return
    }
    const exit = await this.program.exited
    const reply = stored.outcome === 'finished' ? stored.reply : undefined
    yield* this.events.unfinishedEvents('the program ended during this call')
    if (reply === undefined)
      throw failureOfExit(exit, await this.program.complaint(), this.turn.settings.command, this.signs)
    yield { type: 'done', reply }
  }

  private *wait(): Iterable<AgentEvent> {
    const { kind, asks } = this.turn.permissions
    yield* this.events.unfinishedEvents('not run: it waits for a decision of the user')
    yield { type: 'wait', kind, asks }
  }

  /** Answers `can_use_tool`, and passes on messages to substrat's tools. Other control requests are refused. */
  private control({ request_id, request }: JsonObject): void {
    const { subtype, ...rest } = objectOf(request) ?? {}
    if (subtype === 'mcp_message') {
      void this.passOn(request_id, objectOf(rest.message) ?? {})
      return
    }
    if (subtype !== 'can_use_tool') {
      const error = `substrat does not support ${String(subtype)}`
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

  private async passOn(request_id: unknown, message: JsonObject): Promise<void> {
    const mcp_response = (await this.turn.host.tools?.respond(message)) ?? NOTED
    const response = { subtype: 'success', request_id, response: { mcp_response } }
    this.program.write({ type: 'control_response', response })
  }
}

/** The response of the Agent SDK to a message that has none. */
const NOTED = { jsonrpc: '2.0', id: 0, result: {} }

/** Text that claude writes instead of the model, about an API error, is not an answer. */
function isOfModel({ type, message }: JsonObject): boolean {
  return type === 'stream_event' || (type === 'assistant' && objectOf(message)?.model !== '<synthetic>')
}

/**
 * The server is this process: claude sends its MCP messages as control requests, and begins the turn when they are answered. To a
 * server that `--mcp-config` names, claude 2.1.197 connects twice. For one that it starts itself, it waits at the beginning of
 * each turn, and 50 ms at its end.
 */
function offerServer(name: string): object {
  const request = { subtype: 'initialize', sdkMcpServers: [name] }
  return { type: 'control_request', request_id: 'initialize', request }
}

let interrupts = 0

function interrupt(): object {
  interrupts += 1
  return { type: 'control_request', request_id: `interrupt-${interrupts}`, request: { subtype: 'interrupt' } }
}
