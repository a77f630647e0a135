/** A conversation of substrat in a form that any of the APIs takes. */
import type { ModelMessage } from 'substrat/provider'

export interface WireLimits {
  idCharactersMax: number
}

/** What stands for a text where an API takes no empty one. */
export const NOTHING = '(nothing)'

const NAME_CHARACTERS_MAX = 64

/**
 * The same conversation with call ids that are unique in all of it, and call ids and names of `[a-zA-Z0-9_-]`: an id is
 * unique only within its response, some servers start at `call_0` each time, and a conversation may have begun with
 * another provider. The same history always gives the same ids. Assistant messages that say nothing are left out.
 */
export function wireHistory(messages: ModelMessage[], { idCharactersMax }: WireLimits): ModelMessage[] {
  const used = new Set<string>()
  let ids = new Map<string, string>()
  return messages.filter(saysSomething).map((message) => {
    if (message.role === 'user') return message
    if (message.role === 'tool') return { ...message, call_id: ids.get(message.call_id) ?? message.call_id }
    ids = new Map()
    const tool_calls = message.tool_calls.map((call) => {
      const id = freshId(call.call_id, used, idCharactersMax)
      ids.set(call.call_id, id)
      return { ...call, call_id: id, name: plainId(call.name, NAME_CHARACTERS_MAX) }
    })
    return { ...message, tool_calls }
  })
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
