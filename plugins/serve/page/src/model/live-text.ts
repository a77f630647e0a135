/** Live text: the reply so far, which no record has yet. */
import type { SessionRecord } from '../api/types.js'

/** The records that end a live text: the durable reply has replaced it. */
export const ENDS_LIVE: ReadonlySet<string> = new Set([
  'message.agent',
  'model.responded',
  'model.failed',
  'run.failed',
  'run.cancelled',
  'run.interrupted',
])

/** Live text may follow these records of its run. */
const OPENS_LIVE: ReadonlySet<string> = new Set(['run.started', 'run.resumed', 'model.requested'])
/** A program may speak on after a `message.agent`. */
const BOUNDS_LIVE: ReadonlySet<string> = new Set([
  ...OPENS_LIVE,
  ...[...ENDS_LIVE].filter((kind) => kind !== 'message.agent'),
  'run.completed',
])

/** Live text may come after the records that replaced it, because the server reads the two from different places. */
export function isLate(records: readonly SessionRecord[], runId: unknown): boolean {
  const latest = records.findLast(
    (record) => 'run_id' in record && record.run_id === runId && BOUNDS_LIVE.has(record.kind),
  )
  return latest !== undefined && !OPENS_LIVE.has(latest.kind)
}
