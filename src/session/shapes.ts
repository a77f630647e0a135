/** How the fields of records are checked: small predicates, combined in fields.ts and kinds.ts. */
import { isUuid, type JsonValue } from '../format.js'

/** Text of a message: in the line, or in a blob when it is over `limits.inlineBytesMax`. */
export type Content = string | { blob: string; bytes: number }

/** A predicate that carries its type in the notation of docs/format.md. A test compares the page with the code. */
export type Check<T> = ((value: unknown) => value is T) & {
  readonly type: string
  /** The fields of the accepted object, or of each object in the accepted list. */
  readonly fields?: Fields | undefined
  readonly optional?: true
}

type Fields = Readonly<Record<string, Check<unknown>>>

/** Adds properties to `accepts`, so pass a function that nothing else uses. */
export function checkOf<T>(type: string, accepts: (value: unknown) => boolean, fields?: Fields): Check<T> {
  return Object.assign(accepts as (value: unknown) => value is T, { type, fields })
}

export const text = checkOf<string>('string', (value) => typeof value === 'string')
export const uuid = checkOf<string>('uuid', (value) => typeof value === 'string' && isUuid(value))
export const integer = checkOf<number>('integer', (value) => Number.isSafeInteger(value))
export const flag = checkOf<boolean>('boolean', (value) => typeof value === 'boolean')
export const time = checkOf<string>('time', (value) => isTime(value))
export const blob = checkOf<{ blob: string; bytes: number }>('blob', (value) => isBlob(value))
export const content = checkOf<Content>('content', (value) => typeof value === 'string' || isBlob(value))
export const json = checkOf<{ [key: string]: unknown }>('object', (value) => isPlainObject(value))
export const texts = checkOf<Record<string, string>>(
  '{string}',
  (value) => isPlainObject(value) && Object.values(value).every(text),
)

export function orNull<T>(check: Check<T>): Check<T | null> {
  return checkOf(`${check.type}|null`, (value) => value === null || check(value), check.fields)
}

export function optional<T>(check: Check<T>): Check<T> & { optional: true } {
  const accepts = checkOf<T>(check.type, (value) => value === undefined || check(value), check.fields)
  return Object.assign(accepts, { optional: true as const })
}

export function oneOf<const T extends string>(...words: T[]): Check<T> {
  return checkOf(words.map((word) => `"${word}"`).join('|'), (value) => words.includes(value as T))
}

/** `name` is the name of the type in docs/format.md, which lists its fields. */
export function object<T>(name: string, shape: { [F in keyof T]: Check<T[F]> }): Check<T> {
  const fields = Object.entries(shape) as [string, Check<unknown>][]
  return checkOf(
    name,
    (value) => isPlainObject(value) && fields.every(([field, check]) => check(value[field])),
    shape as unknown as Fields,
  )
}

export function list<T>(check: Check<T>): Check<T[]> {
  return checkOf(
    `[${check.type}]`,
    (value) => Array.isArray(value) && value.every((item) => check(item)),
    check.fields,
  )
}

export function isBlob(value: unknown): value is { blob: string; bytes: number } {
  return (
    isPlainObject(value) &&
    typeof value.blob === 'string' &&
    /^[0-9a-f]{64}$/.test(value.blob) &&
    integer(value.bytes)
  )
}

/** ISO 8601 with milliseconds, in UTC. All have the same length, so that they compare as strings. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
}

export function isPlainObject(value: unknown): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
