/**
 * Folds refusals: turns that could not begin.
 *
 * Invariants: between two turns a key has one refusal for each cause, and a key stays in the state until it has run or a person
 * forgets it. The state has a bounded number of keys. So a command that cron repeats each minute adds one record to the log, and one
 * with a new key each minute adds a record only now and then once the state is full.
 */
import { limits } from '../../limits.js'
import type { Refusal } from '../../schema/snapshot.js'
import type { RefusalCause } from '../../schema/words.js'
import { isSameKey } from '../key-hashes.js'
import type { NewRecord, Place } from '../records.js'
import type { State } from '../state.js'

type Refused = Pick<State, 'refused'>
type Named = { cause: RefusalCause; key?: string | undefined }

export function turnRefused(next: State, record: NewRecord<'turn.refused'> & Place): State {
  const { refused = [] } = next
  if (isListed(refused, record)) return next
  const { cause, code, message, command, key = null, ts: since } = record
  const refusal = { cause, code, message, command, key, since }
  const before = indexOfMissed(refused, key)
  if (before !== -1) {
    const isNewest = refused[before]?.more === true
    return { ...next, refused: refused.with(before, isNewest ? { ...refusal, more: true } : refusal) }
  }
  const newest = refused.findLastIndex((known) => known.key !== null)
  if (key === null || !isFull(refused)) return { ...next, refused: [...refused, refusal] }
  return { ...next, refused: [...refused.toSpliced(newest, 1), { ...refusal, more: true }] }
}

/** Whether the refusal needs a record. `now`: once the state is full, a further key is recorded only after a pause. */
export function isNewRefusal({ refused = [] }: Refused, record: Named, now: number): boolean {
  if (isListed(refused, record)) return false
  const { key = null } = record
  if (key === null || !isFull(refused) || indexOfMissed(refused, key) !== -1) return true
  const newest = refused.findLast((known) => known.key !== null)
  if (newest?.more !== true || newest.past === true) return true
  return Math.abs(now - Date.parse(newest.since)) >= limits.refusalPauseMs
}

function isListed(refused: Refusal[], { cause, key }: Named): boolean {
  return refused.some((known) => known.past !== true && known.cause === cause && known.key === (key ?? null))
}

/** A key that was refused before the latest turn. */
function indexOfMissed(refused: Refusal[], key: string | null): number {
  return refused.findIndex((known) => known.past === true && known.key === key)
}

function isFull(refused: Refusal[]): boolean {
  return refused.filter(({ key }) => key !== null).length >= limits.refusedKeysMax
}

/**
 * A turn begins or continues, so its provider can run. A hold and a gate may still be there: a decision, or a permit, let this turn begin.
 * Messages that were refused while a turn waited are still not delivered when it continues: only the next turn ends these refusals. A
 * message with a key was never run, so its refusal stays as a past one until a run has the key.
 */
export function withoutRefusals(next: State, isNewTurn: boolean): State {
  const { refused, ...rest } = next
  if (refused === undefined) return next
  const left = refused.flatMap((refusal): Refusal[] => {
    const { cause, key } = refusal
    if (key !== null && next.keys.some((entry) => isSameKey(entry.key, key))) return []
    const isStillThere =
      (cause === 'hold' && next.hold) ||
      (cause === 'gate' && next.gate.isGated) ||
      (cause === 'waiting' && !isNewTurn)
    if (isStillThere) return [refusal]
    return key === null ? [] : [{ ...refusal, past: true }]
  })
  return left.length === 0 ? rest : { ...rest, refused: withMore(refused, left) }
}

/** Keys that the list had no room for are still missing after the newest of the list has run. */
function withMore(before: Refusal[], left: Refusal[]): Refusal[] {
  const newest = left.findLastIndex(({ key }) => key !== null)
  const last = left[newest]
  if (last === undefined || !before.some(({ more }) => more)) return left
  return left.with(newest, { ...last, more: true })
}
