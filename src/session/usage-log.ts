/** Reads what the records of a log used, one entry per record. Needs the memory of one entry, at any length of the log. */
import type { ModelUsage, Usage } from '../schema/types.js'
import type { Store } from '../storage/store.js'
import { addUsage, remainder } from './fold/usage.js'
import { recordsFrom } from './load.js'

/** `usage` is null for the start of a run. */
export interface UsageEntry {
  ts: string
  run_id: string
  usage: Usage | null
  /** By model, if the record names models. */
  models: ModelUsage[]
}

/** `from`: where the agent's own records begin. */
export function* usageInLog(
  store: Store,
  agentId: string,
  from: { seq: number; offset: number } = { seq: 1, offset: 0 },
): Generator<UsageEntry> {
  const log = store.openLog(agentId)
  if (log === undefined) return
  let counted: Usage | null = null
  let model: string | null = null
  try {
    for (const { record } of recordsFrom(log, from)) {
      const { ts } = record
      if (record.kind === 'run.started') {
        counted = null
        model = record.model
        yield { ts, run_id: record.run_id, usage: null, models: [] }
      }
      if (!('usage' in record) || record.usage === undefined) continue
      const { run_id } = record
      // The end of a completed run repeats what its earlier records have counted.
      const usage = record.kind === 'run.completed' ? remainder(record.usage, counted) : record.usage
      counted = addUsage(counted, usage)
      if (record.kind === 'run.completed' && isNothing(usage)) continue
      const named = 'models' in record && record.models !== undefined ? record.models : undefined
      const one = 'model' in record && record.model !== undefined ? record.model : model
      yield { ts, run_id, usage, models: named ?? (one === null ? [] : [{ model: one, ...usage }]) }
    }
  } finally {
    log.close()
  }
}

function isNothing(usage: Usage): boolean {
  return Object.values(usage).every((count) => count === 0)
}
