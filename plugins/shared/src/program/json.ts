/** Reads values of unknown shape from another program's output. */
import type { JsonObject } from 'substrat/provider'

export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

/** The objects of a list; empty if the value is not a list. */
export function objectsOf(value: unknown): JsonObject[] {
  const list: unknown[] = Array.isArray(value) ? value : []
  return list.map(objectOf).filter((item) => item !== undefined)
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Larger counts are ignored, so that the sum of two stays an exact integer. */
const COUNT_MAX = 2 ** 50

/** 0 for anything that is not a count. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= COUNT_MAX ? Math.floor(value) : 0
}

const TOOL_CHARACTERS_MAX = 16_000

/** Clips a tool's output for the log: its beginning and its end. */
export function clippedText(text: string, charactersMax = TOOL_CHARACTERS_MAX): string {
  if (text.length <= charactersMax) return text
  const half = Math.floor(charactersMax / 2)
  return `${text.slice(0, half)}\n[${text.length - 2 * half} characters left out]\n${text.slice(-half)}`
}

/** A deeper input could overflow the stack of code that walks it. */
const LEVELS_MAX = 50

/** Clips the long texts of a tool's input. If it is still large, returns its beginning and end as text. */
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
