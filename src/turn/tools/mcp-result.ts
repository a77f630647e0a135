/** The text that a model gets for the result of a server's tool. Nothing is left out without a word. */
import { isDeepStrictEqual } from 'node:util'
import { isPlainObject } from '../../format.js'
import type { JsonObject } from '../../provider/contract.js'

const SHOWN_CHARACTERS_MAX = 2000

/** The content, and structured content that no text repeats. Servers of the first revision answer `toolResult`. */
export function resultText(result: JsonObject): string {
  const { content, structuredContent, toolResult } = result
  const parts = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content]
  const texts = parts.map(partText)
  for (const structured of [structuredContent, toolResult])
    if (hasMore(structured, texts)) texts.push(JSON.stringify(structured))
  return texts.join('\n')
}

function hasMore(structured: unknown, texts: string[]): boolean {
  if (structured === undefined || structured === null) return false
  if (isPlainObject(structured) && Object.keys(structured).length === 0) return false
  return !texts.some((text) => repeats(text, structured))
}

/** The protocol asks servers to repeat structured content as text. Some libraries wrap a text as `{ "result": … }`. */
function repeats(text: string, structured: unknown): boolean {
  const wrapped = isPlainObject(structured) ? structured.result : undefined
  const isAlone = isPlainObject(structured) && Object.keys(structured).length === 1
  if (isAlone && text === wrapped) return true
  try {
    const value: unknown = JSON.parse(text)
    return isDeepStrictEqual(value, structured) || (isAlone && isDeepStrictEqual(value, wrapped))
  } catch {
    return false
  }
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part
  if (!isPlainObject(part)) return shown(part)
  const { type, text } = part
  if (typeof text === 'string') return text
  if (type === 'resource_link') return linkText(part)
  if (type === 'resource' && isPlainObject(part.resource)) return resourceText(part.resource)
  if (typeof part.data === 'string')
    return `[${of(type, part.mimeType)} is left out: substrat passes only text to the model]`
  return shown(part)
}

function linkText({ name, title, uri, description, mimeType }: JsonObject): string {
  const words = [title ?? name, description, mimeType].filter((word) => typeof word === 'string')
  return `[resource link: ${[uri, ...words].join(', ')}]`
}

function resourceText({ uri, text, mimeType }: JsonObject): string {
  if (typeof text === 'string') return text
  return `[${of('resource', mimeType)} ${shown(uri)} is left out: it is not text]`
}

/** Such as `image image/png`. */
function of(type: unknown, mimeType: unknown): string {
  return [type, mimeType].filter((word) => typeof word === 'string').join(' ')
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= SHOWN_CHARACTERS_MAX ? text : `${text.slice(0, SHOWN_CHARACTERS_MAX)}…`
}
