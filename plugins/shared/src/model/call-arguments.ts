/** Reads the arguments of a call as what they mean. */
import type { JsonObject, ToolCall } from 'substrat/provider'

type ArgumentsError = NonNullable<ToolCall['arguments_error']>

/** `text`: the arguments as the model sent them. */
export type ReadArguments = { input: JsonObject } | { error: ArgumentsError }

/** The limit of substrat (src/limits.ts). */
const LEVELS_MAX = 100

/**
 * The arguments are the text of a JSON object, or the object itself. Nothing, `null` and an empty text mean no arguments. Some
 * gateways encode the text twice.
 */
export function readArguments(sent: unknown): ReadArguments {
  const text = typeof sent === 'string' ? sent : JSON.stringify(sent ?? null)
  if (isBlank(sent)) return { input: {} }
  let value = sent
  for (let encodings = 0; typeof value === 'string' && encodings < 2; encodings += 1) {
    if (value.trim() === '') return { input: {} }
    try {
      value = JSON.parse(value.replace(/^\ufeff/, ''))
    } catch (error) {
      return { error: { message: `they are not valid JSON (${(error as Error).message})`, text } }
    }
  }
  if (value === null) return { input: {} }
  if (typeof value !== 'object' || Array.isArray(value))
    return { error: { message: 'they are valid JSON, but not an object', text } }
  if (isDeeperThan(value, LEVELS_MAX))
    return { error: { message: `they have more than ${LEVELS_MAX} levels`, text } }
  return { input: value as JsonObject }
}

/** Follows the text of a JSON object to its last brace, after which no further piece can continue it. */
export class ObjectText {
  private depth = 0
  private isInString = false
  private isEscaped = false
  isEnded = false

  add(piece: string): void {
    for (const character of piece) {
      if (this.isEscaped) this.isEscaped = false
      else if (this.isInString) {
        if (character === '\\') this.isEscaped = true
        if (character === '"') this.isInString = false
      } else if (character === '"') this.isInString = true
      else if (character === '{') this.depth += 1
      else if (character === '}') this.depth -= 1
      if (character === '}' && !this.isInString && this.depth === 0) this.isEnded = true
    }
  }
}

/** Whether two statements of arguments are the same. */
export function areSame(a: unknown, b: unknown): boolean {
  if (isBlank(a) || isBlank(b)) return isBlank(a) && isBlank(b)
  const [first, second] = [objectOf(a), objectOf(b)]
  return first !== undefined && second !== undefined ? sorted(first) === sorted(second) : a === b
}

/** Whether two statements of the same arguments contradict each other. An unreadable one says nothing. */
export function contradict(a: unknown, b: unknown): boolean {
  const [first, second] = [objectOf(a), objectOf(b)]
  return first !== undefined && second !== undefined && sorted(first) !== sorted(second)
}

export function isBlank(sent: unknown): boolean {
  return sent === undefined || sent === null || (typeof sent === 'string' && sent.trim() === '')
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

function objectOf(sent: unknown): JsonObject | undefined {
  if (isBlank(sent)) return undefined
  const read = readArguments(sent)
  return 'input' in read ? read.input : undefined
}

/** The object as JSON with its keys in order. The number of levels is bounded. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
