/** The steps of a turn that waits for a budget. */
import type { Used } from '../../schema/types.js'
import type { NewRecord } from '../../session/records.js'
import type { Run, State } from '../../session/state.js'
import type { Over } from '../budget/turn-budget.js'
import { consumedRecords, type MintedToken, waitRecords } from '../tokens.js'
import { proceed, withdrawnRecords } from './calls.js'
import { askStep, assembledRecords } from './records.js'
import type { Step, ToolPolicy, TurnEvent } from './turn-event.js'

export function overBudgetRecords(
  run_id: string,
  { token, why, notBefore, needs, missing }: Over & { token: MintedToken },
  used: Used = {},
): NewRecord[] {
  const refill = notBefore === null ? {} : { not_before: notBefore }
  return waitRecords(run_id, 'budget', token, undefined, used, { why, needs, missing, ...refill })
}

/** A denial ends the turn. With an approval it goes on, and the next request is checked against the raised caps. */
export function budgetDecided(
  state: State,
  run: Run,
  { boot_id, decided, provider, sources }: Extract<TurnEvent, { type: 'decided' }>,
  policy: ToolPolicy,
): Step {
  const { run_id } = run
  const { token_id, decision, grant, actor } = decided
  const by = actor === undefined ? {} : { actor }
  const attempt = state.recovery.barren_attempts + 1
  const records: NewRecord[] = []
  if (state.state !== 'active') records.push({ kind: 'session.activated', boot_id })
  records.push(...consumedRecords(run_id, decided))
  records.push({ kind: 'run.resumed', run_id, boot_id, auto: false, attempt, token_id })
  if (decision === 'deny') {
    records.push(...withdrawnRecords(run, 'the turn was denied more of its budget'))
    return { records: [...records, { kind: 'run.cancelled', run_id, reason: 'cancelled', ...by }] }
  }
  if (grant !== undefined) records.push({ kind: 'budget.granted', run_id, ...grant })
  records.push(...assembledRecords(run_id, sources))
  return run.phase === 'calling'
    ? proceed(records, run, run.calls, policy)
    : askStep(records, run_id, provider)
}
