/** The model's part of `step`: responses, failures, and a conversation that is too long for the model. */

import { limits } from '../../limits.js'
import type { CallRecord, RunError } from '../../schema/types.js'
import { addUsage } from '../../session/fold/usage.js'
import type { NewRecord } from '../../session/records.js'
import type { Call, Run, State } from '../../session/state.js'
import { proceed } from './calls.js'
import { completedRecord, modelFailure, reply, runFailed } from './records.js'
import type { Shorter, Step, ToolPolicy, TurnEvent } from './turn-event.js'

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
  const compacted = event.compacted === undefined ? [] : [adoptedRecord(run_id, event.compacted)]
  if (calls.length === 0)
    return {
      records: [
        ...compacted,
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
  const records = [...compacted, ...said, responded, ...spoiled]
  const inARow = spoiled.length === calls.length ? (event.spoiledBefore ?? 0) + 1 : 0
  if (inARow >= limits.spoiledResponsesMax)
    return { records: [...records, runFailed(run_id, { error: spoiledError(calls, inARow) })] }
  return proceed(records, { ...run, steps: run.steps + 1 }, made, policy)
}

function spoiledError(calls: CallRecord[], inARow: number): RunError {
  const { name, arguments_error } = calls.at(-1) as CallRecord
  const message = `the arguments of its calls could not be read, ${inARow} responses in a row; the latest called ${name}: ${arguments_error?.message}`
  return { type: 'invalid_response', message }
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
  if (!isSummary && mayCompact(state, run, event)) return { records: [attempt], effect: { type: 'compact' } }
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

/**
 * A refused request leads to a shorter conversation, and to an even shorter one if that is refused too. A service may say in any
 * words that it cannot take a conversation, so its words do not matter if it has answered this one before. After a compaction, it
 * is compacted again only after a later response with calls, whose results made it longer. A service that refuses the results of each
 * response would make the turn repeat its calls for ever, so there is a limit in a row.
 */
function mayCompact(
  { compaction }: State,
  { isCompacted, calls_at }: Run,
  { error, trials = 0, wasAnswered = false, droppedInARow = 0 }: Extract<TurnEvent, { type: 'model_failed' }>,
): boolean {
  if (trials > 0) return trials < limits.shorterTrialsMax && REFUSALS.includes(error.type)
  if (error.type !== 'overflow' && !(error.type === 'invalid' && wasAnswered)) return false
  if (droppedInARow >= limits.droppedInARowMax) return false
  return !isCompacted || (calls_at?.seq ?? 0) > (compaction?.seq ?? 0)
}

const REFUSALS = ['overflow', 'invalid']

export function triedRecord(run_id: string, shorter: Shorter): NewRecord {
  return { kind: 'context.tried', run_id, ...summaryFields(shorter) }
}

/** The usage of the summary is in `context.tried`. */
function adoptedRecord(run_id: string, { usage: _, model: __, ...shorter }: Shorter): NewRecord {
  return compactedRecord(run_id, shorter)
}

export function compactedRecord(run_id: string, shorter: Shorter): NewRecord {
  const { content, keeps, responses } = shorter
  const place = { keeps_seq: keeps.seq, keeps_offset: keeps.offset }
  return { kind: 'context.compacted', run_id, content, ...place, responses, ...summaryFields(shorter) }
}

function summaryFields({
  how,
  messages,
  usage,
  model,
}: Shorter): Omit<Shorter, 'content' | 'keeps' | 'responses'> {
  return {
    how,
    messages,
    ...(usage === undefined ? {} : { usage }),
    ...(model === undefined ? {} : { model }),
  }
}
