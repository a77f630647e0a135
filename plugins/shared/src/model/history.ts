/** Converts a conversation into a form that every API accepts. */
import type { ModelMessage, ToolCall } from 'substrat/provider'

export interface WireLimits {
  idCharactersMax: number
}

/** Replaces an empty text, which the APIs reject. */
export const NOTHING = '(nothing)'

const NAME_CHARACTERS_MAX = 64

/**
 * Makes call ids unique in the whole conversation, and restricts ids and tool names to `[a-zA-Z0-9_-]`. A model's ids
 * are unique only within a response: some servers start at `call_0` each time, and another provider may have begun
 * the conversation. The same history always gives the same ids. Empty assistant messages are omitted.
 */
export function wireHistory(messages: ModelMessage[], { idCharactersMax }: WireLimits): ModelMessage[] {
  const used = new Set<string>()
  let ids = new Map<string, string>()
  return messages.filter(saysSomething).map((message) => {
    if (message.role === 'user') return message
    if (message.role === 'tool') {
      const content = message.content === '' ? NOTHING : message.content
      return { ...message, content, call_id: ids.get(message.call_id) ?? message.call_id }
    }
    ids = new Map()
    const tool_calls = message.tool_calls.map((call) => {
      const id = freshId(call.call_id, used, idCharactersMax)
      ids.set(call.call_id, id)
      const input = wellFormed(call.input) as ToolCall['input']
      return { ...call, call_id: id, name: plainId(call.name, NAME_CHARACTERS_MAX), input }
    })
    return { ...message, tool_calls }
  })
}

/**
 * Without lone surrogates, also in names of fields. Two dialects send an input as text within the JSON of the request: a server that
 * parses it would find them there, although the request itself is well-formed.
 */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\p{Surrogate}/gu, '\ufffd')
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [wellFormed(name), wellFormed(field)]),
  )
}

export function isBlank(text: string): boolean {
  return text.trim() === ''
}

function saysSomething(message: ModelMessage): boolean {
  return message.role !== 'assistant' || message.tool_calls.length > 0 || !isBlank(message.content)
}

function freshId(id: string, used: Set<string>, charactersMax: number): string {
  const base = plainId(id, charactersMax)
  let fresh = base
  for (let n = 2; used.has(fresh); n += 1) fresh = `${base.slice(0, charactersMax - 8)}_${n}`
  used.add(fresh)
  return fresh
}

function plainId(text: string, charactersMax: number): string {
  return text.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, charactersMax) || '_'
}
