/** How the fields of records are checked: small predicates, put together in `records`. */
import type { JsonValue } from '../storage/frame.js'
import { isUuid } from '../storage/paths.js'

/** Text of a message: in the line, or in a blob when it is over `limits.inlineBytesMax`. */
export type Content = string | { blob: string; bytes: number }

export type Check<T> = ((value: unknown) => value is T) & { optional?: true }

export const text = ((value: unknown) => typeof value === 'string') as Check<string>
export const uuid = ((value: unknown) => typeof value === 'string' && isUuid(value)) as Check<string>
export const integer = ((value: unknown) => Number.isSafeInteger(value)) as Check<number>
export const flag = ((value: unknown) => typeof value === 'boolean') as Check<boolean>
export const time = isTime as Check<string>
export const content = ((value: unknown) => typeof value === 'string' || isBlob(value)) as Check<Content>
export const texts = ((value: unknown) => isPlainObject(value) && Object.values(value).every(text)) as Check<
  Record<string, string>
>

export function orNull<T>(check: Check<T>): Check<T | null> {
  return ((value: unknown) => value === null || check(value)) as Check<T | null>
}

export function optional<T>(check: Check<T>): Check<T> & { optional: true } {
  return Object.assign(((value: unknown) => value === undefined || check(value)) as Check<T>, {
    optional: true as const,
  })
}

export function oneOf<const T extends string>(...words: T[]): Check<T> {
  return ((value: unknown) => words.includes(value as T)) as Check<T>
}

export function object<T>(shape: { [F in keyof T]: Check<T[F]> }): Check<T> {
  const fields = Object.entries(shape) as [string, Check<unknown>][]
  return ((value: unknown) =>
    isPlainObject(value) && fields.every(([field, check]) => check(value[field]))) as Check<T>
}

export const list = <T>(check: Check<T>): Check<T[]> =>
  ((value: unknown) => Array.isArray(value) && value.every((item) => check(item))) as Check<T[]>
export const blob = ((value: unknown) => isBlob(value)) as Check<{ blob: string; bytes: number }>
export const json = ((value: unknown) => isPlainObject(value)) as Check<{ [key: string]: unknown }>

export function isBlob(value: unknown): value is { blob: string; bytes: number } {
  return (
    isPlainObject(value) &&
    typeof value.blob === 'string' &&
    /^[0-9a-f]{64}$/.test(value.blob) &&
    integer(value.bytes)
  )
}

/** ISO 8601 with milliseconds, in UTC: of one length, so that they compare as strings. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
}

export function isPlainObject(value: unknown): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
