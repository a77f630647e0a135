/** The model's part of `step`: responses, failures, and a conversation that is too long for the model. */

import type { CallRecord } from '../../schema/types.js'
import { addUsage } from '../../session/fold/usage.js'
import type { NewRecord } from '../../session/records.js'
import type { Call, Run, State } from '../../session/state.js'
import { proceed } from './calls.js'
import { completedRecord, modelFailure, reply, runFailed } from './records.js'
import type { Step, ToolPolicy, TurnEvent } from './turn-event.js'

export function modelResponded(
  run: Run,
  event: Extract<TurnEvent, { type: 'model_responded' }>,
  policy: ToolPolicy,
): Step {
  const { run_id } = run
  const { stop, calls } = event
  const usage = event.usage === null ? {} : { usage: event.usage }
  const responded: NewRecord = {
    kind: 'model.responded',
    run_id,
    stop,
    ...usage,
    ...(event.model === undefined ? {} : { model: event.model }),
    ...(calls.length === 0 ? {} : { calls }),
    ...event.items,
    ...(event.itemsRefused === true ? { items_refused: true } : {}),
  }
  if (calls.length === 0)
    return {
      records: [
        reply(run, event.reply, {}, event.incomplete),
        responded,
        completedRecord(run_id, addUsage(run.usage, event.usage ?? undefined)),
      ],
    }
  const said = event.reply === '' ? [] : [reply(run, event.reply, {}, event.incomplete)]
  const made = calls.map(
    ({ call_id, name, arguments_error }): Call => ({
      call_id,
      tool: name,
      status: arguments_error === undefined ? 'pending' : 'finished',
      isApproved: false,
      group: null,
    }),
  )
  const spoiled = calls.flatMap((call) => unreadResult(run_id, call))
  return proceed([...said, responded, ...spoiled], { ...run, steps: run.steps + 1 }, made, policy)
}

/** A call whose arguments could not be read has its result at once, in the batch of the response: no crash can run it. */
function unreadResult(
  run_id: string,
  { call_id, name: tool, arguments_error: error }: CallRecord,
): NewRecord[] {
  if (error === undefined) return []
  const content = `The call did not run, because its arguments could not be read: ${error.message}. They begin: ${error.text}`
  return [{ kind: 'tool.finished', run_id, call_id, tool, content, is_error: true }]
}

export function modelFailed(
  state: State,
  run: Run,
  event: Extract<TurnEvent, { type: 'model_failed' }>,
): Step {
  const { run_id } = run
  const { error, plan, isSummary = false } = event
  const attempt = modelFailure(run_id, event, plan.retryInMs)
  if (error.type === 'overflow' && !isSummary && mayCompact(state, run))
    return { records: [attempt], effect: { type: 'compact' } }
  if (plan.retryInMs !== null) {
    const before = isSummary ? { before: 'compact' as const } : {}
    return { records: [attempt], effect: { type: 'pause', ms: plan.retryInMs, ...before } }
  }
  // `detail`, `usage` and `model` are in the attempt's record already.
  const { said } = event
  const failed = runFailed(run_id, said === undefined ? { error } : { error, said })
  if (plan.notBefore === null) return { records: [attempt, failed] }
  return {
    records: [
      attempt,
      { kind: 'run.waiting', run_id, wait: 'not_before', not_before: plan.notBefore, why: error.message },
    ],
  }
}

/** Compacts once, and again only after a later response with calls, whose results made the conversation longer. */
function mayCompact({ compaction }: State, { isCompacted, calls_at }: Run): boolean {
  return !isCompacted || (calls_at?.seq ?? 0) > (compaction?.seq ?? 0)
}

export function compactedRecord(run_id: string, event: Extract<TurnEvent, { type: 'compacted' }>): NewRecord {
  const { content, how, keeps, messages, responses, usage, model } = event
  return {
    kind: 'context.compacted',
    run_id,
    content,
    how,
    keeps_seq: keeps.seq,
    keeps_offset: keeps.offset,
    messages,
    responses,
    ...(usage === undefined ? {} : { usage }),
    ...(model === undefined ? {} : { model }),
  }
}
