/**
 * A record: its contents, its place in the log, and the check of its shape. Before a write a failed check is a bug of
 * substrat; after a read it is corruption.
 */

import { RECORD_SHAPES } from './kinds.js'
import { type Check, isPlainObject, time } from './shapes.js'

type Shapes = typeof RECORD_SHAPES

type Checked<C> = C extends (value: unknown) => value is infer T ? T : never

type Fields<S> = { [F in keyof S as S[F] extends { optional: true } ? never : F]: Checked<S[F]> } & {
  [F in keyof S as S[F] extends { optional: true } ? F : never]?: Checked<S[F]>
}

export type RecordKind = keyof Shapes

/** The contents of a record, without its place in the log. */
export type NewRecord<K extends RecordKind = RecordKind> = { [P in K]: { kind: P } & Fields<Shapes[P]> }[K]

export interface Place {
  seq: number
  ts: string
  /** First and last seq of the records that were written together. */
  batch: [number, number]
}

export type SessionRecord<K extends RecordKind = RecordKind> = NewRecord<K> & Place

/** Undefined if the record has the shape of its kind; otherwise a sentence that names the violation. */
export function wrongShape(record: unknown): string | undefined {
  if (!isPlainObject(record)) return 'it is not an object'
  if (!Number.isSafeInteger(record.seq) || !time(record.ts)) return 'it has no seq or no ts'
  const shape = kindIsKnown(record.kind)
    ? (RECORD_SHAPES[record.kind] as Record<string, Check<unknown>>)
    : undefined
  if (shape === undefined) return `its kind ${kindInWords(record.kind)} is unknown`
  for (const field in shape) {
    if (!shape[field]?.(record[field])) return `its field ${field} is not valid in ${String(record.kind)}`
  }
  return undefined
}

/** Safe for hostile input: the result is bounded, and a deeply nested value causes no recursion. */
export function kindInWords(kind: unknown): string {
  return typeof kind === 'string' ? JSON.stringify(kind.slice(0, KIND_SHOWN)) : 'that is not a string'
}

const KIND_SHOWN = 60

export function kindIsKnown(kind: unknown): kind is RecordKind {
  return typeof kind === 'string' && Object.hasOwn(RECORD_SHAPES, kind)
}
