/** Texts of records. Long ones are files of the home, which the API does not send. */
import type { Content } from '../api/types.js'
import { bytesText } from './time.js'

export function textOf(content: Content): string {
  return typeof content === 'string'
    ? content
    : `(${bytesText(content.bytes)}; read it with substrat log or substrat export)`
}

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

/** The readable parts of a provider's reasoning items, whose form is the provider's own. Empty if all of it is encrypted. */
export function reasoningText(items: readonly Record<string, unknown>[]): string {
  return items.flatMap(readableIn).join('\n\n').trim()
}

const READABLE = ['thinking', 'text', 'summary', 'content', 'reasoning']

function readableIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(readableIn)
  if (value === null || typeof value !== 'object') return []
  const fields = value as Record<string, unknown>
  return READABLE.flatMap((name) => (name in fields ? readableIn(fields[name]) : []))
}
