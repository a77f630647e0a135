/**
 * Folds refusals: turns that could not begin.
 *
 * Invariants: between two turns a key has one refusal for each cause, and a cause has a bounded number of them. So a command that cron
 * repeats each minute adds one record to the log, not one for each minute.
 */
import { limits } from '../../limits.js'
import type { RefusalCause } from '../../schema/words.js'
import type { NewRecord, Place } from '../records.js'
import type { State } from '../state.js'

export function turnRefused(next: State, record: NewRecord<'turn.refused'> & Place): State {
  if (!isNewRefusal(next, record)) return next
  const { cause, code, message, command, key = null, ts: since } = record
  return { ...next, refused: [...(next.refused ?? []), { cause, code, message, command, key, since }] }
}

/** Whether the refusal says more than those that the state has. Otherwise it needs no record. */
export function isNewRefusal(
  { refused = [] }: Pick<State, 'refused'>,
  { cause, key }: { cause: RefusalCause; key?: string | undefined },
): boolean {
  const same = refused.filter((known) => known.cause === cause)
  return same.length < limits.refusalsMax && same.every((known) => known.key !== (key ?? null))
}

/**
 * A turn begins or continues, so its provider can run. A hold and a gate may still be there: a decision, or a permit, let this turn begin.
 * Messages that were refused while a turn waited are still not delivered when it continues: only the next turn ends these refusals.
 */
export function withoutRefusals(next: State, isNewTurn: boolean): State {
  const { refused, ...rest } = next
  if (refused === undefined) return next
  const left = refused.filter(
    ({ cause }) =>
      (cause === 'hold' && next.hold) ||
      (cause === 'gate' && next.gate.isGated) ||
      (cause === 'waiting' && !isNewTurn),
  )
  return left.length === 0 ? rest : { ...rest, refused: left }
}
