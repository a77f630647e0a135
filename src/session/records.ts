/**
 * A record: its contents, its place in the log, and the check of its shape. Before a write a failed check is a bug of
 * substrat; after a read it is corruption.
 */

import type { z } from 'zod'
import { isPlainObject } from '../format.js'
import { RECORD_PREDICATES } from '../schema/generated/record-predicates.js'
import type { RECORDS, RecordKind } from '../schema/records.js'
import type { ModelUsage, Usage } from '../schema/types.js'

export type { RecordKind } from '../schema/records.js'

/** The contents of a record, without its place in the log. */
export type NewRecord<K extends RecordKind = RecordKind> = {
  [P in K]: { kind: P } & FieldsOf<P>
}[K]

/** zod infers an object without fields as one that allows none. */
type FieldsOf<K extends RecordKind> =
  z.infer<(typeof RECORDS)[K]> extends Record<string, never> ? unknown : z.infer<(typeof RECORDS)[K]>

/** Facts about a failure that only the log has. */
export interface ErrorDetail {
  /** For `refused`: the model's text before it refused. */
  said?: string
  /** The stacks of the error and of its causes. */
  detail?: string
  /** Usage of the failed attempt, and the model that had begun to answer. */
  usage?: Usage
  model?: string
  /** The service had begun to answer. */
  answer_began?: true
  /** The program reached the limit of its budget. In no record. */
  budget_reached?: true
  /** For an agent program: its usage per model. */
  models?: ModelUsage[]
}

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
  const { seq, ts } = RECORD_PREDICATES['']
  if (!seq?.(record.seq) || !ts?.(record.ts)) return 'it has no seq or no ts'
  const shape = kindIsKnown(record.kind) ? RECORD_PREDICATES[record.kind] : undefined
  if (shape === undefined) return `its kind ${kindInWords(record.kind)} is unknown`
  for (const field in shape) {
    if (!shape[field]?.(record[field])) return `its field ${field} is not valid in ${String(record.kind)}`
  }
  return undefined
}

/**
 * A word that is not one of the words of its field in this version, so a later version wrote it. Undefined if something else is wrong. The
 * checksum of the record is right: no fault of a disk turns one word into another.
 */
export function unknownWordIn(record: { kind?: unknown; [field: string]: unknown }): string | undefined {
  return kindIsKnown(record.kind)
    ? unknownWords(RECORD_PREDICATES[record.kind], record, String(record.kind))
    : undefined
}

/** The same for any stored object of this shape. `of` names the object. */
export function unknownWords(
  shape: { [field: string]: (value: unknown) => boolean },
  object: { [field: string]: unknown },
  of: string,
): string | undefined {
  const wrong = Object.keys(shape).filter((field) => shape[field]?.(object[field]) === false)
  const words = wrong.flatMap((field) => {
    const value = object[field]
    return typeof value === 'string' && WORD.test(value)
      ? [`the ${field} ${JSON.stringify(value)} of ${of}`]
      : []
  })
  return words.length > 0 && words.length === wrong.length ? words.join(', ') : undefined
}

/** Excludes ids, times and checksums. */
const WORD = /^[a-z][a-z_]{0,30}(:\w{1,20})?$/

/** As `wrongShape`, for a reader that also takes the kinds of later versions. */
export function wrongKnownShape(record: SessionRecord): string | undefined {
  return kindIsKnown(record.kind) ? wrongShape(record) : undefined
}

/** Safe for hostile input: the result is bounded, and a deeply nested value causes no recursion. */
export function kindInWords(kind: unknown): string {
  return typeof kind === 'string' ? JSON.stringify(kind.slice(0, KIND_SHOWN)) : 'that is not a string'
}

const KIND_SHOWN = 60

export function kindIsKnown(kind: unknown): kind is RecordKind {
  return typeof kind === 'string' && kind !== '' && Object.hasOwn(RECORD_PREDICATES, kind)
}
