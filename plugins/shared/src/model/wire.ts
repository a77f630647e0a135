/**
 * Reads the fields of an event of unknown shape.
 *
 * Invariant: a missing or null field is undefined or empty. A field of an unexpected type fails with
 * `invalid_response`, which names it. A reader therefore never gets a value of a wrong type.
 */
import { failure } from '../failure.js'

/**
 * An SDK's type as a server can really send it, with every field optional. The compiler still checks that a reader
 * names existing fields.
 */
export type Wire<T> = T extends readonly (infer E)[]
  ? Wire<E>[]
  : T extends object
    ? { [K in keyof T]?: Wire<T[K]> | null }
    : T

type Field<T, K extends keyof T> = Exclude<T[K], null | undefined>

/** A text field; empty if it is missing. */
export function textIn<T extends object>(parent: T | undefined, field: keyof T & string): string {
  const value = valueIn(parent, field)
  if (value === undefined || typeof value === 'string') return value ?? ''
  throw malformedError(field, 'text', value)
}

export function numberIn<T extends object>(
  parent: T | undefined,
  field: keyof T & string,
): number | undefined {
  const value = valueIn(parent, field)
  if (value === undefined || typeof value === 'number') return value
  throw malformedError(field, 'a number', value)
}

export function objectIn<T extends object, K extends keyof T & string>(
  parent: T | undefined,
  field: K,
): Field<T, K> | undefined {
  const value = valueIn(parent, field)
  if (value === undefined || isObject(value)) return value as Field<T, K> | undefined
  throw malformedError(field, 'an object', value)
}

/** The objects of a list; empty if the field is missing. */
export function objectsIn<T extends object, K extends keyof T & string>(
  parent: T | undefined,
  field: K,
): Field<T, K> | [] {
  const value = valueIn(parent, field)
  if (value === undefined) return []
  if (!Array.isArray(value)) throw malformedError(field, 'a list', value)
  const other = value.findIndex((item) => !isObject(item))
  if (other !== -1) throw malformedError(`${field}[${other}]`, 'an object', value[other])
  return value as Field<T, K>
}

/** Larger counts are ignored, so that the sum of two stays an exact integer. */
const COUNT_MAX = 2 ** 50

/** 0 for anything that is not a count: an unreadable count must not fail the answer. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= COUNT_MAX ? Math.round(value) : 0
}

export function valueIn<T extends object>(parent: T | undefined, field: keyof T & string): unknown {
  return parent !== undefined && Object.hasOwn(parent, field) ? (parent[field] ?? undefined) : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformedError(field: string, wanted: string, value: unknown): Error {
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  return failure('invalid_response', `the model's answer is malformed: ${field} is ${found}, not ${wanted}`)
}
