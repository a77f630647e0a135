/**
 * Assembles the tool calls of one response from their pieces. Calls are returned only after the response has ended: a
 * call truncated by the token limit can look complete, and must not run.
 *
 * Invariant: a response holds at most CALLS_MAX calls and INPUT_CHARACTERS_MAX of input. Exceeding either fails it at
 * once.
 */
import type { JsonObject, ToolCall } from 'substrat/provider'
import { failure } from '../failure.js'

interface PartialCall {
  call_id: string
  name: string
  input: string
}

/** The limits of substrat (src/limits.ts). */
const CALLS_MAX = 128
const WORD_CHARACTERS_MAX = 256
const LEVELS_MAX = 100
const INPUT_CHARACTERS_MAX = 16 * 1024 * 1024

export class ToolCalls {
  private readonly calls = new Map<number | string, PartialCall>()
  private characters = 0

  /** `key` identifies the call in later pieces. */
  start(key: number | string, call_id: string, name: string, input = ''): void {
    if (!this.calls.has(key) && this.calls.size === CALLS_MAX)
      throw failure('invalid_response', `the model called more than ${CALLS_MAX} tools in one response`)
    this.calls.set(key, { call_id, name, input: this.countInput(input) })
  }

  has(key: number | string): boolean {
    return this.calls.has(key)
  }

  idOf(key: number | string): string | undefined {
    return this.calls.get(key)?.call_id
  }

  append(key: number | string, input: string): void {
    const call = this.calls.get(key)
    if (call !== undefined) call.input += this.countInput(input)
  }

  /** Replaces the input, for an API that repeats it whole at the end. */
  replaceInput(key: number | string, input: string): void {
    const call = this.calls.get(key)
    if (call === undefined || input === '') return
    this.characters -= call.input.length
    call.input = this.countInput(input)
  }

  get count(): number {
    return this.calls.size
  }

  /** Throws `invalid_response` for an invalid call. `isCut`: the response ended at its token limit. */
  finish(isCut: boolean): ToolCall[] {
    const ids = new Set<string>()
    return [...this.calls.values()].map((call, index) => {
      const isLast = index === this.calls.size - 1
      const { name } = call
      if (name === '') throw failure('invalid_response', 'the model called a tool without a name')
      if (name.length > WORD_CHARACTERS_MAX)
        throw failure('invalid_response', `the model called a tool whose name has ${name.length} characters`)
      const isUsable = call.call_id !== '' && call.call_id.length <= WORD_CHARACTERS_MAX
      const call_id = isUsable && !ids.has(call.call_id) ? call.call_id : unusedId(index, ids)
      ids.add(call_id)
      return { call_id, name, input: parseInput(call, isCut && isLast) }
    })
  }

  private countInput(input: string): string {
    this.characters += input.length
    if (this.characters <= INPUT_CHARACTERS_MAX) return input
    throw failure(
      'invalid_response',
      `the model called tools with inputs of more than ${INPUT_CHARACTERS_MAX} characters in one response`,
    )
  }
}

/** Some servers send no id, or the same for all calls. */
function unusedId(index: number, ids: Set<string>): string {
  let id = `call_${index}`
  while (ids.has(id)) id += '_'
  return id
}

function parseInput({ name, input }: PartialCall, isCut: boolean): JsonObject {
  // Calls without parameters often have an empty input. A truncated call can begin the same way.
  if (input.trim() === '' && !isCut) return {}
  const value = objectOf(input)
  if (value === undefined) {
    throw failure(
      'invalid_response',
      isCut
        ? `the response reached its token limit during a call of ${name}; raise the limit with --option max_tokens=…`
        : `the model called ${name} with an input that is not a JSON object`,
    )
  }
  if (isDeeperThan(value, LEVELS_MAX))
    throw failure(
      'invalid_response',
      `the model called ${name} with an input of more than ${LEVELS_MAX} levels`,
    )
  return value
}

function objectOf(json: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}

/** Not recursive: a deep value would overflow the stack. */
export function isDeeperThan(value: object, levels: number): boolean {
  let level: object[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === levels) return true
    level = level.flatMap((item) =>
      Object.values(item).filter((inner) => typeof inner === 'object' && inner !== null),
    )
  }
  return false
}
