/**
 * The requests that strict servers refuse. Each check is the rule of a server whose message is public: OpenAI and Anthropic for the
 * order of calls and results, several gateways for empty texts and for text that is not well-formed.
 */
import type { Dialect } from './readers.js'

type Json = Record<string, unknown>

/** Why a strict server refuses the request; undefined if it accepts it. */
export function refusalOf(dialect: Dialect, sent: Json): string | undefined {
  const body = JSON.parse(JSON.stringify(sent)) as Json
  const check = { chat: chatRefusal, responses: responsesRefusal, messages: messagesRefusal }[dialect]
  return check(body)
}

function chatRefusal({ messages }: Json): string | undefined {
  let pending: string[] = []
  for (const message of messages as Json[]) {
    const { role, content, tool_calls = [], tool_call_id } = message
    if (role === 'tool') {
      if (!pending.includes(String(tool_call_id))) return `a result of no call: ${tool_call_id}`
      pending = pending.filter((id) => id !== tool_call_id)
    } else if (pending.length > 0) return `no result of ${pending}`
    const calls = tool_calls as Json[]
    const isEmpty = content === '' || (content === null && (role !== 'assistant' || calls.length === 0))
    if (isEmpty) return `a ${role} message without content`
    if (calls.length === 0 && 'tool_calls' in message) return 'an empty list of calls'
    if (typeof (message.reasoning_content ?? '') !== 'string') return 'reasoning that is not a text'
    for (const { id, function: called } of calls) {
      const why = callRefusal(id, called as Json, pending, 40)
      if (why !== undefined) return why
      pending.push(String(id))
    }
  }
  return pending.length > 0 ? `no result of ${pending}` : undefined
}

function responsesRefusal({ input }: Json): string | undefined {
  let pending: string[] = []
  const ids = new Set<unknown>()
  for (const item of input as Json[]) {
    const { type = 'message', id } = item
    if (id !== undefined && (typeof id !== 'string' || id === '')) return `an id that is no text: ${id}`
    if (id !== undefined && ids.has(id)) return `two items with the id ${id}`
    if (id !== undefined) ids.add(id)
    if (type === 'function_call') {
      const why = callRefusal(item.call_id, item, pending, 64)
      if (why !== undefined) return why
      pending.push(String(item.call_id))
    } else if (type === 'function_call_output') {
      if (!pending.includes(String(item.call_id))) return `a result of no call: ${item.call_id}`
      if (item.output === '') return 'an empty result'
      pending = pending.filter((call_id) => call_id !== item.call_id)
    } else if (type === 'reasoning') {
      if (typeof item.encrypted_content !== 'string') return 'reasoning that is not a text'
    } else if (item.content === '' || (item.content as unknown[]).length === 0) return 'an empty message'
  }
  if ((input as Json[]).at(-1)?.type === 'reasoning') return 'reasoning without an item after it'
  return pending.length > 0 ? `no result of ${pending}` : undefined
}

function messagesRefusal({ messages }: Json): string | undefined {
  let pending: string[] = []
  let last = 'assistant'
  for (const { role, content } of messages as { role: string; content: Json[] }[]) {
    if (role === last) return `two messages of the ${role}`
    last = role
    if (content.length === 0) return 'an empty message'
    const results = content
      .filter(({ type }) => type === 'tool_result')
      .map((block) => String(block.tool_use_id))
    if (pending.length > 0 && pending.join() !== results.join()) return `no result of ${pending}`
    if (pending.length === 0 && results.length > 0) return `a result of no call: ${results}`
    pending = []
    for (const block of content) {
      if (block.type === 'text' && String(block.text).trim() === '') return 'a blank text'
      if (block.type === 'tool_result' && block.content === '') return 'an empty result'
      if (
        block.type === 'thinking' &&
        (typeof block.signature !== 'string' || typeof block.thinking !== 'string')
      )
        return 'thinking that is not a text'
      if (block.type !== 'tool_use') continue
      const why = callRefusal(
        block.id,
        { name: block.name, arguments: JSON.stringify(block.input) },
        pending,
        64,
      )
      if (why !== undefined) return why
      pending.push(String(block.id))
    }
    if (/thinking/.test(String(content.at(-1)?.type))) return 'thinking without a block after it'
  }
  return pending.length > 0 ? `no result of ${pending}` : undefined
}

function callRefusal(id: unknown, called: Json, pending: string[], idMax: number): string | undefined {
  if (typeof id !== 'string' || !/^[a-zA-Z0-9_-]+$/.test(id) || id.length > idMax)
    return `a call with the id ${id}`
  if (pending.includes(id)) return `two calls with the id ${id}`
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(called.name))) return `a call of ${called.name}`
  const input: unknown = JSON.parse(String(called.arguments))
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return 'arguments that are no object'
  return hasLoneSurrogate(input) ? 'arguments with a lone surrogate' : undefined
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, field]) => hasLoneSurrogate(name) || hasLoneSurrogate(field))
}
