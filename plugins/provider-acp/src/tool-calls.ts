/**
 * Turns the agent's tool calls into events for the log.
 *
 * Invariants:
 * - A call is reported as started at most once, when it runs or ends.
 * - It is reported as finished at most once, after that.
 * - Calls of substrat's own tools are not reported: substrat records them itself.
 */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import { clippedInput, clippedText, objectOf, objectsOf, textOf } from '../../shared/src/program/json.js'

export interface KnownCall {
  tool: string
  kind: string
  title: string
  input: JsonObject
  isStarted: boolean
}

const IDENTIFIER = /^[\w.:/-]{1,64}$/
const CALLS_KNOWN_MAX = 10_000

export class ToolCalls {
  private readonly known = new Map<string, KnownCall>()
  private readonly over = new Set<string>()

  /** `ownServer`: the name of the server that offers substrat's tools to the agent. */
  constructor(private readonly ownServer: string | undefined) {}

  get(callId: string): KnownCall | undefined {
    return this.known.get(callId)
  }

  /** `update` is a `tool_call`, or a `tool_call_update`, which has only the changed fields. */
  *take(update: JsonObject): Iterable<AgentEvent> {
    const call_id = textOf(update.toolCallId)
    if (call_id === undefined || call_id === '' || this.over.has(call_id)) return
    const call = this.learn(call_id, update)
    const status = textOf(update.status) ?? 'pending'
    const isOver = status === 'completed' || status === 'failed'
    const isOwn = this.isOwn(call.tool)
    if (!call.isStarted && (isOver || status === 'in_progress')) {
      call.isStarted = true
      if (!isOwn) yield { type: 'tool_started', call_id, tool: call.tool, input: clippedInput(inputOf(call)) }
    }
    if (!isOver) return
    this.known.delete(call_id)
    this.over.add(call_id)
    if (isOwn) return
    const output = clippedText(outputOf(update))
    yield { type: 'tool_finished', call_id, tool: call.tool, output, is_error: status === 'failed' }
  }

  /** Closes the calls that are still open at the end of the turn. */
  *end(): Iterable<AgentEvent> {
    for (const [call_id, { tool, isStarted }] of this.known) {
      if (!isStarted || this.isOwn(tool)) continue
      yield {
        type: 'tool_finished',
        call_id,
        tool,
        output: 'still running when the turn ended',
        is_error: true,
      }
    }
    this.known.clear()
  }

  private learn(callId: string, update: JsonObject): KnownCall {
    const before = this.known.get(callId)
    const kind = textOf(update.kind) ?? before?.kind ?? 'other'
    const title = textOf(update.title) ?? before?.title ?? ''
    const input = objectOf(update.rawInput)
    const call = {
      // Some agents first send the tool's name as title; later titles describe the call.
      tool: before?.tool ?? textOf(update.name) ?? (IDENTIFIER.test(title) ? title : kind),
      kind,
      title,
      input: input !== undefined && Object.keys(input).length > 0 ? input : (before?.input ?? {}),
      isStarted: before?.isStarted ?? false,
    }
    if (this.known.size < CALLS_KNOWN_MAX || before !== undefined) this.known.set(callId, call)
    return call
  }

  private isOwn(tool: string): boolean {
    if (this.ownServer === undefined) return false
    const rest = tool.replace(/^mcp__/, '')
    return rest.startsWith(this.ownServer) && /^[_.:/-]/.test(rest.slice(this.ownServer.length))
  }
}

/** Falls back to the title if the agent does not send the input. */
export function inputOf({ input, title, tool }: KnownCall): JsonObject {
  return Object.keys(input).length > 0 || title === '' || title === tool ? input : { title }
}

function outputOf({ content, rawOutput }: JsonObject): string {
  const said = objectsOf(content).flatMap((item) => {
    if (item.type === 'content') return textOf(objectOf(item.content)?.text) ?? []
    if (item.type === 'diff') return `changed ${String(item.path)}`
    return []
  })
  if (said.length > 0) return said.join('\n')
  if (rawOutput === undefined || rawOutput === null) return ''
  return textOf(rawOutput) ?? textOf(objectOf(rawOutput)?.output) ?? JSON.stringify(rawOutput)
}
