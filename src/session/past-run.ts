/** Reads an ended run from its place in the log. `send --key` answers with it when a key is repeated. */

import type { RunError, Usage } from '../schema/types.js'
import type { Store } from '../storage/store.js'
import { addUsage } from './fold/usage.js'
import { recordsFrom } from './load.js'
import { readText } from './read.js'
import type { SessionRecord } from './records.js'
import type { KeyEntry, Run, RunStatus } from './state.js'

export interface PastRun {
  run_id: string
  status: RunStatus
  started_at: string
  ended_at: string | null
  key: string | null
  /** Whether its turn began a new conversation. */
  fresh?: boolean
  digest: string | null
  usage: Usage | null
  reason: Run['reason']
  error: RunError | null
  reply: string | null
  /** Why the reply may be incomplete. */
  incomplete?: string | undefined
  /** The model's text before it refused. */
  said: string | null
  /** From `run.started` to the record that ended it. */
  records: SessionRecord[]
}

/** The last run of the turn at `entry`. An interrupted run may have been continued by another run. */
export function readContinuedRun(store: Store, agentId: string, entry: Omit<KeyEntry, 'key'>): PastRun {
  const run = readPastRun(store, agentId, entry)
  if (run.status !== 'interrupted') return run
  const next = findContinuation(store, agentId, entry, run.run_id)
  return next === undefined ? run : readContinuedRun(store, agentId, next)
}

function findContinuation(
  store: Store,
  agentId: string,
  from: Omit<KeyEntry, 'key'>,
  runId: string,
): Omit<KeyEntry, 'key'> | undefined {
  const log = store.openLog(agentId)
  if (log === undefined) return undefined
  try {
    let { offset } = from
    for (const { record, end } of recordsFrom(log, from)) {
      if (record.kind === 'run.started' && record.continues === runId)
        return { seq: record.seq, offset, started_at: record.ts, end: 0 }
      offset = end
    }
  } finally {
    log.close()
  }
  return undefined
}

export function readPastRun(store: Store, agentId: string, entry: Omit<KeyEntry, 'key'>): PastRun {
  const log = store.openLog(agentId)
  const run: PastRun = {
    run_id: '',
    status: 'open',
    started_at: entry.started_at,
    ended_at: null,
    key: null,
    digest: null,
    usage: null,
    reason: null,
    error: null,
    reply: null,
    said: null,
    records: [],
  }
  if (log === undefined) return run
  try {
    for (const { record } of recordsFrom(log, entry, entry.end === 0 ? undefined : entry.end)) {
      run.records.push(record)
      if (record.kind === 'run.started')
        Object.assign(run, {
          run_id: record.run_id,
          key: record.key ?? null,
          digest: record.digest ?? null,
          ...(record.fresh === true ? { fresh: true } : {}),
        })
      if (record.kind === 'message.agent') {
        run.reply = readText(store, agentId, record.content)
        run.incomplete = record.incomplete
      }
      if (record.kind === 'run.completed')
        Object.assign(run, { status: 'completed', usage: record.usage ?? run.usage })
      else if ('usage' in record) run.usage = addUsage(run.usage, record.usage)
      if (record.kind === 'run.failed') {
        const said = record.said === undefined ? null : readText(store, agentId, record.said)
        Object.assign(run, { status: 'failed', error: record.error, said })
      }
      if (record.kind === 'run.cancelled') Object.assign(run, { status: 'cancelled', reason: record.reason })
      if (record.kind === 'run.interrupted')
        Object.assign(run, { status: 'interrupted', reason: record.reason, error: record.error ?? null })
      // The log may have grown since `entry` was read. Later records belong to another run.
      if (run.status !== 'open') return { ...run, ended_at: record.ts }
    }
  } finally {
    log.close()
  }
  return run
}
