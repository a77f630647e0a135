/**
 * The fields of an event as it came, which may have any shape.
 *
 * Invariant: a field that is missing or null is undefined, or empty; a field of another type than the API's is a failure of
 * type `invalid_response` that names it. So a reader never meets a value that it does not know.
 */
import { failure } from '../failure.js'

/**
 * A type of an SDK as it may really come: any field may be missing. The compiler then checks that a reader names fields
 * which exist.
 */
export type Wire<T> = T extends readonly (infer E)[]
  ? Wire<E>[]
  : T extends object
    ? { [K in keyof T]?: Wire<T[K]> | null }
    : T

type Field<T, K extends keyof T> = Exclude<T[K], null | undefined>

/** A piece of text; empty where there is none. */
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

/** The objects of a list; none where there is no list. */
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

/** Beyond it nothing is counted, and the sum of two is no whole number any more. */
const COUNT_MAX = 2 ** 50

/** 0 for what is no count: an answer is not lost because its price is unreadable. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= COUNT_MAX ? Math.round(value) : 0
}

function valueIn<T extends object>(parent: T | undefined, field: keyof T & string): unknown {
  return parent !== undefined && Object.hasOwn(parent, field) ? (parent[field] ?? undefined) : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformedError(field: string, wanted: string, value: unknown): Error {
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
  return failure(
    'invalid_response',
    `the answer of the model is malformed: ${field} is ${found}, not ${wanted}`,
  )
}
