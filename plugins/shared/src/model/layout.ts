/**
 * The order of one response's parts. An API that signs or encrypts its reasoning accepts the response back only with the same
 * reasoning in the same places, but substrat stores the text, the calls and the provider's items apart. The items therefore hold
 * the layout: the reasoning itself, and references to the text and the calls around it.
 *
 * Invariants:
 * - A response without reasoning has no items.
 * - Reasoning goes back only to the server that made it. No other server can read it, and many refuse it.
 */
import type { JsonObject, ModelEvent, ModelMessage, ToolCall } from 'substrat/provider'
import { failure } from '../failure.js'
import { isDeeperThan } from './call-arguments.js'
import { isBlank } from './history.js'
import type { Endpoint } from './settings.js'

type Assistant = Extract<ModelMessage, { role: 'assistant' }>

/** Fields of a part that the API wants back, such as its id. */
export type Facts = { [field: string]: string }

export type Part =
  | { kind: 'text'; text: string; facts: Facts }
  | { kind: 'call'; call: ToolCall; facts: Facts }
  /** Exactly as the API sent it. */
  | { kind: 'reasoning'; reasoning: JsonObject }

type Entry =
  | { text: [from: number, to: number]; facts?: Facts }
  | { call: number; facts?: Facts }
  | { reasoning: JsonObject; server: string }

const PARTS_MAX = 10_000
const REASONING_CHARACTERS_MAX = 4 * 1024 * 1024
const LEVELS_MAX = 90

export class Layout {
  private readonly entries = new Map<number, Entry>()
  private position = 0
  private calls = 0
  private characters = 0
  private hasReasoning = false

  private readonly server: string

  /** The server of the endpoint makes the reasoning. */
  constructor(endpoint: Endpoint) {
    this.server = serverOf(endpoint)
  }

  /** The next piece of the response's text. `place` orders the parts. `skipped`: characters before it that are not the model's. */
  addText(place: number, text: string, skipped = 0): void {
    this.position += skipped
    const entry = this.entries.get(place)
    const from = entry !== undefined && 'text' in entry ? entry.text[0] : this.position
    this.position += text.length
    this.put(place, { ...entry, text: [from, this.position] })
  }

  /** The next call. */
  addCall(place: number, facts?: Facts): void {
    this.put(place, { call: this.calls, ...(facts && { facts }) })
    this.calls += 1
  }

  /** Adds the facts that the API sends at the end of a text. */
  describeText(place: number, facts: Facts): void {
    const entry = this.entries.get(place)
    if (entry !== undefined && 'text' in entry) this.put(place, { ...entry, facts })
  }

  addReasoning(place: number, reasoning: JsonObject): void {
    if (isDeeperThan(reasoning, LEVELS_MAX))
      throw failure('invalid_response', `the model sent reasoning of more than ${LEVELS_MAX} levels`)
    this.hasReasoning = true
    this.put(place, { reasoning, server: this.server })
  }

  /** A server must not control this process's memory: each piece of reasoning is counted before it is stored. */
  countReasoning(text: string): string {
    this.characters += text.length
    if (this.characters <= REASONING_CHARACTERS_MAX) return text
    throw failure(
      'invalid_response',
      `the model sent more than ${REASONING_CHARACTERS_MAX} characters of reasoning in one response`,
    )
  }

  *finish(): Iterable<ModelEvent> {
    if (!this.hasReasoning) return
    const ordered = [...this.entries].sort(([a], [b]) => a - b)
    for (const [, item] of ordered) yield { type: 'item', item }
  }

  private put(place: number, entry: Entry): void {
    this.entries.set(place, entry)
    if (this.entries.size > PARTS_MAX)
      throw failure('invalid_response', `the model sent more than ${PARTS_MAX} parts in one response`)
  }
}

/** The layout of responses that are parts of one. Only the last has calls. */
export function joinedItems(parts: { text: string; items: JsonObject[] }[]): JsonObject[] {
  if (parts.every(({ items }) => items.length === 0)) return []
  let next = 0
  return parts.flatMap(({ text, items }) => {
    const from = next
    next += text.length
    if (items.length === 0) return text === '' ? [] : [{ text: [from, next] }]
    return items.map((item) => {
      if (!Array.isArray(item.text)) return item
      const [begin, end] = item.text as [number, number]
      return { ...item, text: [begin + from, end + from] }
    })
  })
}

/** Distinguishes the APIs of one server too. */
function serverOf({ url }: Endpoint): string {
  return url.host + url.pathname
}

/**
 * The parts of a stored response, in the order in which they came. The APIs reject a blank text, and reasoning without a part after
 * it, which the token limit can leave. Both are omitted.
 */
export function partsOf(message: Assistant, endpoint: Endpoint): Part[] {
  const server = serverOf(endpoint)
  const entries = (message.items ?? []) as Partial<Record<string, unknown>>[]
  const isKnown = entries.some((entry) => entry.server === server) && isComplete(message, entries)
  const parts = isKnown ? entries.flatMap((entry) => partOf(message, entry)) : plainParts(message)
  const sendable = parts.filter((part) => part.kind !== 'text' || !isBlank(part.text))
  return sendable.slice(0, sendable.findLastIndex(({ kind }) => kind !== 'reasoning') + 1)
}

/** The parts of a response without reasoning. */
function plainParts({ content, tool_calls }: Assistant): Part[] {
  return [
    { kind: 'text', text: content, facts: {} },
    ...tool_calls.map((call): Part => ({ kind: 'call', call, facts: {} })),
  ]
}

function partOf({ content, tool_calls }: Assistant, entry: Partial<Record<string, unknown>>): Part[] {
  const facts = (entry.facts ?? {}) as Facts
  if (Array.isArray(entry.text)) return [{ kind: 'text', text: content.slice(...entry.text), facts }]
  const call = tool_calls[entry.call as number]
  if (call !== undefined) return [{ kind: 'call', call, facts }]
  return [{ kind: 'reasoning', reasoning: entry.reasoning as JsonObject }]
}

/** Whether the layout names every call and all text: nothing that the model said may be lost. */
function isComplete(
  { content, tool_calls }: Assistant,
  entries: Partial<Record<string, unknown>>[],
): boolean {
  const calls = entries.flatMap(({ call }) => (typeof call === 'number' ? [call] : []))
  const texts = entries.flatMap(({ text }) => (Array.isArray(text) ? [text as [number, number]] : []))
  let at = 0
  for (const [from, to] of texts) {
    if (!isBlank(content.slice(at, from))) return false
    at = Math.max(at, to)
  }
  return isBlank(content.slice(at)) && calls.sort((a, b) => a - b).join() === [...tool_calls.keys()].join()
}
