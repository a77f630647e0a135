/**
 * Reasoning of the model server. Each answer gets new reasoning, even if its request is repeated. The server remembers what it
 * sent, and refuses a history in which the reasoning of a response with calls is missing, altered, moved or another answer's.
 */
import { createHash, randomUUID } from 'node:crypto'
import { isObject, type Json } from './dialect.js'
import type { ScriptedAnswer, ScriptedPart } from './scenario.js'

/** By the id of a call: the whole response that the call belongs to, in the API's own form. */
export type Issued = Map<string, Json[]>

/** The parts of an answer, in order. */
export function partsOf(answer: ScriptedAnswer): ScriptedPart[] {
  const calls = (answer.tool_calls ?? []).map(() => 'call' as const)
  return answer.order ?? [...(answer.text === undefined ? [] : ['text' as const]), ...calls]
}

/** Distinguishes the answers of a server. Empty without reasoning, so that the ids of such answers are always the same. */
export function nonceOf(answer: ScriptedAnswer): string {
  return answer.order?.some(isObject) === true ? `_${randomUUID().slice(0, 8)}` : ''
}

/** Stands for a signature or an encryption: valid only for these texts, and only if this server made it. */
export function sealed(...texts: string[]): string {
  return createHash('sha256')
    .update(`${SECRET}\n${JSON.stringify(texts)}`)
    .digest('base64')
}

const SECRET = randomUUID()

/**
 * Compares the parts of a message with the response that the server sent. `parts` may begin with those of an earlier response.
 * Returns the reason to refuse the message.
 */
export function changedResponse(parts: Json[], ids: unknown[], issued: Issued): string | undefined {
  const [id] = ids
  const sent = typeof id === 'string' ? issued.get(id) : undefined
  if (sent === undefined) return undefined
  const found = parts.slice(-sent.length).map(comparable)
  const expected = sent.map(comparable)
  const at = expected.findIndex((part, i) => part !== found[i])
  if (at === -1) return undefined
  return `the parts of the response are ${found.map(kindOf).join(', ')}, not ${expected.map(kindOf).join(', ')} as sent; the first other one is number ${at}`
}

/** Without the fields that a client may add, and with its input parsed. */
function comparable({
  cache_control,
  status,
  caller,
  citations,
  annotations,
  content,
  ...part
}: Json): string {
  const text = Array.isArray(content) ? content.map((each) => each.text ?? each.refusal).join('') : undefined
  const input = typeof part.arguments === 'string' ? JSON.parse(part.arguments) : undefined
  return JSON.stringify(
    sorted({ ...part, ...(input && { arguments: input }), ...(text && { content: text }) }),
  )
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  )
}

function kindOf(part: string | undefined): string {
  return part === undefined ? 'nothing' : String(JSON.parse(part).type ?? 'message')
}

/** The reasoning in a part, a request or a response, in order. */
export function reasoningIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(reasoningIn)
  if (!isObject(value)) return []
  if (value.reasoning_content !== undefined) return [{ reasoning_content: value.reasoning_content }]
  if (value.role === undefined && /^(redacted_)?thinking$|^reasoning$/.test(String(value.type)))
    return [value]
  return reasoningIn(value.messages ?? value.input ?? (value.role === 'assistant' ? value.content : []))
}
