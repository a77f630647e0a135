/** What another program says, which may have any shape. */
import type { JsonObject } from 'substrat/provider'

export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

/** The objects of a list; none where it is no list. */
export function objectsOf(value: unknown): JsonObject[] {
  const list: unknown[] = Array.isArray(value) ? value : []
  return list.map(objectOf).filter((item) => item !== undefined)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Beyond it nothing is counted, and the sum of two is no whole number any more. */
const COUNT_MAX = 2 ** 50

/** 0 for what is no count. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= COUNT_MAX ? Math.floor(value) : 0
}

const TOOL_CHARACTERS_MAX = 16_000

/** What a tool said, as much of it as the log is to have: its beginning and its end. */
export function clippedText(text: string, charactersMax = TOOL_CHARACTERS_MAX): string {
  if (text.length <= charactersMax) return text
  const half = Math.floor(charactersMax / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

/** Of a tool's input: what is deeper breaks whoever walks through it. */
const LEVELS_MAX = 50

/** A tool's input with its long texts clipped, or, where it is large all the same, its beginning as text. */
export function clippedInput(input: JsonObject): JsonObject {
  const clip = (value: unknown, levels = LEVELS_MAX): unknown => {
    if (levels === 0) return '[deeper levels left out]'
    if (typeof value === 'string') return clippedText(value, TOOL_CHARACTERS_MAX / 4)
    if (Array.isArray(value)) return value.map((item) => clip(item, levels - 1))
    const object = objectOf(value)
    if (object === undefined) return value
    return Object.fromEntries(Object.entries(object).map(([key, item]) => [key, clip(item, levels - 1)]))
  }
  const small = clip(input) as JsonObject
  const text = JSON.stringify(small)
  return text.length <= 2 * TOOL_CHARACTERS_MAX ? small : { clipped: clippedText(text) }
}
