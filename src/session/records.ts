/**
 * A record: what it says, its place in the log, and the check of its shape. The same check asserts before a write (our bug) and
 * reports corruption after a read.
 */

import { RECORD_SHAPES } from './kinds.js'
import { type Check, isPlainObject, time } from './shapes.js'

type Shapes = typeof RECORD_SHAPES

type Checked<C> = C extends (value: unknown) => value is infer T ? T : never

type Fields<S> = { [F in keyof S as S[F] extends { optional: true } ? never : F]: Checked<S[F]> } & {
  [F in keyof S as S[F] extends { optional: true } ? F : never]?: Checked<S[F]>
}

export type RecordKind = keyof Shapes

/** What a record says, without its place in the log. */
export type NewRecord<K extends RecordKind = RecordKind> = { [P in K]: { kind: P } & Fields<Shapes[P]> }[K]

export interface Place {
  seq: number
  ts: string
  /** First and last seq of the records that were written together. */
  batch: [number, number]
}

export type SessionRecord<K extends RecordKind = RecordKind> = NewRecord<K> & Place

/** Undefined where the record is of its kind's shape; else what is wrong with it. */
export function wrongShape(record: unknown): string | undefined {
  if (!isPlainObject(record)) return 'it is no object'
  if (!Number.isSafeInteger(record.seq) || !time(record.ts)) return 'it has no seq or no ts'
  const shape = kindIsKnown(record.kind)
    ? (RECORD_SHAPES[record.kind] as Record<string, Check<unknown>>)
    : undefined
  if (shape === undefined) return `its kind ${kindInWords(record.kind)} is unknown`
  for (const field in shape) {
    if (!shape[field]?.(record[field])) return `its ${field} is not as ${String(record.kind)} has it`
  }
  return undefined
}

/** Of what anybody may have written: bounded, and without the recursion that a deep value would break. */
export function kindInWords(kind: unknown): string {
  return typeof kind === 'string' ? JSON.stringify(kind.slice(0, KIND_SHOWN)) : 'that is no text'
}

const KIND_SHOWN = 60

export function kindIsKnown(kind: unknown): kind is RecordKind {
  return typeof kind === 'string' && Object.hasOwn(RECORD_SHAPES, kind)
}
