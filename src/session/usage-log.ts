/** Reads what the records of a log used, one entry per record. Needs the memory of one entry, at any length of the log. */
import type { ModelUsage, Usage } from '../schema/types.js'
import type { Store } from '../storage/store.js'
import { addUsage, remainder } from './fold/usage.js'
import { recordsFrom } from './load.js'
import type { SessionRecord } from './records.js'

/** `usage` is null for the start of a run. */
export interface UsageEntry {
  ts: string
  run_id: string
  usage: Usage | null
  /** By model, if the record names models. */
  models: ModelUsage[]
  /** Only at the start of a run: the model that it is to use. Null if the log names none. */
  begunWith?: string | null
  /** The schedule of its turn. Undefined for another turn. */
  schedule?: { schedule_id: string; name: string } | undefined
}

/** Finds the entries among the records of one log, which come in order. */
export class UsageCounter {
  /** The usage of the run so far. */
  private counted: Usage | null = null
  private model: string | null = null
  /** The start of the latest run. */
  private begun: UsageEntry | undefined

  entriesOf(record: SessionRecord): UsageEntry[] {
    if (record.kind === 'run.started') {
      this.counted = null
      this.model = record.model
      const { ts, run_id, model: begunWith, continues } = record
      const schedule = continues === this.begun?.run_id ? this.begun?.schedule : undefined
      this.begun = { ts, run_id, usage: null, models: [], begunWith, schedule }
      return [this.begun]
    }
    if (record.kind === 'schedule.fired' || record.kind === 'schedule.ran_now') {
      // In the batch of the start, whose entry its reader still has.
      if (this.begun !== undefined) this.begun.schedule = record
      return []
    }
    if (!('usage' in record) || record.usage === undefined) return []
    const { ts, run_id } = record
    // The end of a completed run repeats what its earlier records have counted.
    const usage = record.kind === 'run.completed' ? remainder(record.usage, this.counted) : record.usage
    this.counted = addUsage(this.counted, usage)
    if (record.kind === 'run.completed' && isNothing(usage)) return []
    const named = 'models' in record && record.models !== undefined ? record.models : undefined
    const one = 'model' in record && record.model !== undefined ? record.model : this.model
    const { schedule } = this.begun ?? {}
    return [
      { ts, run_id, schedule, usage, models: named ?? (one === null ? [] : [{ model: one, ...usage }]) },
    ]
  }
}

/** `isUnused`: the start of a run without any usage. */
export type LoggedUsage = UsageEntry & { isUnused?: boolean }

/** `from`: where the agent's own records begin. */
export function* usageInLog(
  store: Store,
  agentId: string,
  from: { seq: number; offset: number } = { seq: 1, offset: 0 },
): Generator<LoggedUsage> {
  const log = store.openLog(agentId)
  if (log === undefined) return
  try {
    const counter = new UsageCounter()
    // The start waits for the next entry, which shows whether its run used anything.
    let start: UsageEntry | undefined
    for (const { record } of recordsFrom(log, from)) {
      for (const entry of counter.entriesOf(record)) {
        if (start !== undefined) yield { ...start, isUnused: entry.usage === null }
        start = entry.usage === null ? entry : undefined
        if (start === undefined) yield entry
      }
    }
    if (start !== undefined) yield { ...start, isUnused: true }
  } finally {
    log.close()
  }
}

function isNothing(usage: Usage): boolean {
  return Object.values(usage).every((count) => count === 0)
}
