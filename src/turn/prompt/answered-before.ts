/** Finds out by the earlier responses of a conversation why a request fails. */
import { isDeepStrictEqual } from 'node:util'
import type { ToolCall } from '../../provider/contract.js'
import type { Session } from '../../session/session.js'
import type { Run } from '../../session/state.js'

/**
 * Whether the same provider has answered this conversation with the same model and options. Its settings then work, so a refused
 * request means the conversation.
 */
export function wasAnsweredBefore(session: Pick<Session, 'state' | 'recordsOfKinds'>): boolean {
  const { run, model, options } = session.state
  // The settings may have changed since the end of a run.
  if (run?.status === 'open' && run.steps > 0) return true
  let isSame = false
  const kinds = ['run.started', 'model.responded'] as const
  // The beginning may be left out by now, and a run with it whose later responses are not.
  for (const record of session.recordsOfKinds({ seq: 1, offset: 0 }, kinds)) {
    if (record.kind === 'model.responded' && isSame) return true
    if (record.kind === 'run.started')
      isSame = record.model === model && isDeepStrictEqual(record.options, options)
  }
  return false
}

/** How many responses of the run in a row, before that with `calls`, had only calls whose arguments could not be read. */
export function spoiledInARow(session: Session, calls: ToolCall[]): number {
  if (calls.every((call) => call.arguments_error === undefined)) return 0
  const { start } = session.state.run as Run
  let count = 0
  for (const { calls = [] } of session.recordsOfKinds(start, ['model.responded']))
    count = calls.length > 0 && calls.every((call) => call.arguments_error !== undefined) ? count + 1 : 0
  return count
}

/**
 * How many times in a row the run went on without the results of its calls, and the results of its next response were refused too. A
 * summary keeps what the results said, so it ends the row.
 */
export function droppedInARow(session: Session): number {
  const { run } = session.state
  if (run?.isCompacted !== true) return 0
  let [count, responses] = [0, 0]
  for (const record of session.recordsOfKinds(run.start, ['context.compacted', 'model.responded'] as const)) {
    if (record.kind === 'model.responded') {
      responses += 1
      continue
    }
    if (record.how === 'dropped') count = responses > 1 ? 1 : count + 1
    else count = 0
    responses = 0
  }
  return responses > 1 ? 0 : count
}
