/**
 * The tool calls of one response, put together from their pieces. They are given out only when the response has ended:
 * a call that was cut off by the token limit may look whole, and must not run.
 */
import type { JsonObject, ToolCall } from 'substrat/provider'
import { failure } from './failure.js'

interface PartialCall {
  call_id: string
  name: string
  input: string
}

export class ToolCalls {
  private readonly calls = new Map<number | string, PartialCall>()

  /** `key` is what the API calls this call by in later pieces. */
  start(key: number | string, call_id: string | undefined, name: string | undefined, input = ''): void {
    this.calls.set(key, { call_id: call_id ?? '', name: name ?? '', input })
  }

  has(key: number | string): boolean {
    return this.calls.has(key)
  }

  idOf(key: number | string): string | undefined {
    return this.calls.get(key)?.call_id
  }

  append(key: number | string, input: string | undefined): void {
    const call = this.calls.get(key)
    if (call !== undefined) call.input += input ?? ''
  }

  /** The whole input, where an API gives that in the end. */
  replaceInput(key: number | string, input: string | undefined): void {
    const call = this.calls.get(key)
    if (call !== undefined && input !== undefined && input !== '') call.input = input
  }

  get count(): number {
    return this.calls.size
  }

  /** Throws `invalid_response` for a call that nobody can make. `isCut`: the response ended at its token limit. */
  finish(isCut: boolean): ToolCall[] {
    const ids = new Set<string>()
    return [...this.calls.values()].map((call, index) => {
      const isLast = index === this.calls.size - 1
      if (call.name === '') throw failure('invalid_response', 'the model called a tool without a name')
      const call_id = call.call_id === '' || ids.has(call.call_id) ? unusedId(index, ids) : call.call_id
      ids.add(call_id)
      return { call_id, name: call.name, input: parseInput(call, isCut && isLast) }
    })
  }
}

/** Some servers give no id, or the same for all. */
function unusedId(index: number, ids: Set<string>): string {
  let id = `call_${index}`
  while (ids.has(id)) id += '_'
  return id
}

function parseInput({ name, input }: PartialCall, isCut: boolean): JsonObject {
  // A tool without parameters is often called with nothing at all; a call that was cut off begins so too.
  if (input.trim() === '' && !isCut) return {}
  try {
    const value: unknown = JSON.parse(input)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // Refused below, as any other that is no JSON object.
  }
  throw failure(
    'invalid_response',
    isCut
      ? `the response reached its token limit inside of a call of ${name}: raise it with --option max_tokens=…`
      : `the model called ${name} with an input that is no JSON object`,
  )
}
