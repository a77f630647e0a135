/** Turns claude's messages into events of the contract. */
import type { AgentEvent, JsonObject } from 'substrat/provider'
import {
  clippedInput,
  clippedText,
  countOf,
  objectOf,
  objectsOf,
  textOf,
} from '../../shared/src/program/json.js'

export class Events {
  /** Running tools by call id. Calls of substrat's tools are not among them: substrat records those itself. */
  private readonly tools = new Map<string, string>()
  /** The message whose text was streamed. */
  private piecesOf: string | undefined
  private streaming: string | undefined

  private readonly ownTools: string | undefined

  /** `server`: the name of the server that offers substrat's tools. */
  constructor(private readonly server: string | undefined) {
    this.ownTools = server === undefined ? undefined : `mcp__${server}__`
  }

  eventsOf(message: JsonObject): AgentEvent[] {
    switch (message.type) {
      case 'stream_event':
        return this.ofPiece(message)
      case 'assistant':
        return this.ofAssistant(message)
      case 'user':
        return this.ofResults(message)
      case 'system':
        return message.subtype === 'init' ? this.ofInit(message) : ofSystem(message)
      default:
        return []
    }
  }

  /** Closes the calls that are still open at the end of the turn. */
  unfinishedEvents(output: string): AgentEvent[] {
    return [...this.tools].map(([call_id, tool]) => {
      this.tools.delete(call_id)
      return { type: 'tool_finished', call_id, tool, output, is_error: true }
    })
  }

  private ofInit({ mcp_servers }: JsonObject): AgentEvent[] {
    if (this.server === undefined) return []
    const { status = 'missing' } = objectsOf(mcp_servers).find(({ name }) => name === this.server) ?? {}
    if (status === 'connected') return []
    const text = `claude cannot use substrat's tools: the status of their server is ${String(status)}`
    return [{ type: 'note', text }]
  }

  private ofPiece(message: JsonObject): AgentEvent[] {
    // Text of a subagent is not shown.
    if (typeof message.parent_tool_use_id === 'string') return []
    const event = objectOf(message.event) ?? {}
    if (event.type === 'message_start') this.streaming = textOf(objectOf(event.message)?.id)
    const delta = objectOf(event.delta)
    const text = delta?.type === 'text_delta' ? textOf(delta.text) : undefined
    if (text === undefined || text === '') return []
    this.piecesOf = this.streaming
    return [{ type: 'text', text }]
  }

  private ofAssistant({ message, parent_tool_use_id }: JsonObject): AgentEvent[] {
    const { id, content } = objectOf(message) ?? {}
    const isSubAgent = typeof parent_tool_use_id === 'string'
    const hasPieces = this.piecesOf !== undefined && this.piecesOf === id
    return objectsOf(content).flatMap((block): AgentEvent[] => {
      if (block.type === 'tool_use') return this.ofCall(block)
      const text = block.type === 'text' ? textOf(block.text) : undefined
      return text === undefined || text === '' || isSubAgent || hasPieces ? [] : [{ type: 'text', text }]
    })
  }

  private ofCall(block: JsonObject): AgentEvent[] {
    const [call_id, tool] = [textOf(block.id), textOf(block.name)]
    if (call_id === undefined || tool === undefined || this.tools.has(call_id)) return []
    if (this.ownTools !== undefined && tool.startsWith(this.ownTools)) return []
    this.tools.set(call_id, tool)
    return [{ type: 'tool_started', call_id, tool, input: clippedInput(objectOf(block.input) ?? {}) }]
  }

  private ofResults({ message }: JsonObject): AgentEvent[] {
    return objectsOf(objectOf(message)?.content).flatMap((block): AgentEvent[] => {
      const call_id = block.type === 'tool_result' ? textOf(block.tool_use_id) : undefined
      const tool = call_id === undefined ? undefined : this.tools.get(call_id)
      if (call_id === undefined || tool === undefined) return []
      this.tools.delete(call_id)
      const output = clippedText(outputOf(block.content))
      return [{ type: 'tool_finished', call_id, tool, output, is_error: block.is_error === true }]
    })
  }
}

function ofSystem(message: JsonObject): AgentEvent[] {
  if (message.subtype === 'api_retry') {
    const seconds = Math.ceil(countOf(message.retry_delay_ms) / 1000)
    const why = textOf(message.error) ?? 'it failed'
    const text = `claude retries the API request in ${seconds} s (${message.attempt} of ${message.max_retries}): ${why}`
    return [{ type: 'note', text }]
  }
  if (message.subtype === 'compact_boundary')
    return [{ type: 'note', text: 'claude has compacted its conversation' }]
  return []
}

/** The text of a tool's result, with other content named by its type. */
function outputOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map((block) => (block.type === 'text' ? (textOf(block.text) ?? '') : `[${String(block.type)}]`))
    .join('\n')
}
