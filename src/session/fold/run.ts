/**
 * Folds the start and end of runs, and the entries of keys.
 *
 * Invariants: a run starts only in an active session with no open run. A key has one entry, its latest run. The state has a
 * bounded number of keys, so that a turn costs the same at any age. The key index has the older ones.
 */
import { SessionStateError } from '../../errors.js'
import { limits } from '../../limits.js'
import { messageOptions } from '../../schema/message.js'
import type { Usage } from '../../schema/types.js'
import type { NewRecord, Place, SessionRecord } from '../records.js'
import type { KeyEntry, Location, Run, State } from '../state.js'
import { foldEnded } from './mail.js'
import { hostOf, leftCalls } from './turn.js'
import { countRun, countUsage } from './usage.js'

export function runStarted(next: State, record: NewRecord<'run.started'> & Place, at: Location): State {
  if (next.state !== 'active')
    throw new SessionStateError(`a run cannot start while the session is ${next.state}`)
  if (next.run?.status === 'open') throw new SessionStateError('a run cannot start while another is open')
  const isAutomatic = record.continues !== undefined && record.auto === true
  const { isGated, permits } = next.gate
  return {
    ...next,
    ...contextFrom(record, at),
    // The requester gets the reply of this run, so the error for the interrupted run is no longer sent.
    owes: next.owes.filter(({ run_id, kind }) => run_id !== record.continues || kind !== 'error'),
    isPoked: false,
    usage: next.usage === null ? null : countRun(next.usage),
    gate: { isGated, permits: isGated ? Math.max(0, permits - 1) : 0 },
    run: {
      run_id: record.run_id,
      boot_id: record.boot_id,
      ...hostOf(record),
      status: 'open',
      origin: record.origin,
      phase: leftCalls(next.run).calls.length > 0 ? 'calling' : 'started',
      started_at: record.ts,
      ended_at: null,
      continues: record.continues ?? null,
      ...messageOptions(record),
      // A continued run has the same prompt and must answer the same requests.
      prompts: record.continues === undefined ? [] : (next.run?.prompts ?? []),
      requests: record.continues === undefined ? [] : (next.run?.requests ?? []),
      reply: null,
      reason: null,
      error: null,
      usage: null,
      process: null,
      servers: [],
      steps: 0,
      failures: 0,
      ...leftCalls(next.run),
      program_calls: [],
      isCompacted: false,
      wait: null,
      // The answer stays until a prompt includes it.
      answer: record.continues === undefined ? null : (next.run?.answer ?? null),
      hasLaunched:
        record.repeats !== undefined || (record.continues !== undefined && next.run?.hasLaunched === true),
      ...(record.repeats === undefined ? {} : { repeats: record.repeats }),
      start: { seq: at.seq, offset: at.offset },
    },
    ...(record.key === undefined ? {} : withKey(next, record.key, record.ts, at)),
    recovery: {
      ...next.recovery,
      interruption: null,
      barren_attempts: isAutomatic ? next.recovery.barren_attempts + 1 : 0,
    },
  }
}

/** A run that continues another has the conversation with which its turn began. */
function contextFrom(
  { continues, fresh, keeps_seq, keeps_offset }: NewRecord<'run.started'>,
  at: Location,
): Partial<State> {
  if (continues !== undefined) return {}
  if (fresh === true) return newConversation(at)
  if (keeps_seq === undefined || keeps_offset === undefined) return {}
  return {
    context_seq: keeps_seq,
    context_offset: keeps_offset,
    compaction: null,
    seed: null,
    isSeedDue: false,
  }
}

/** The program gets a new native session. A seed that is due has the earlier conversation, so it is not sent. */
function newConversation({ seq, offset }: Location): Partial<State> {
  return {
    context_seq: seq,
    context_offset: offset,
    compaction: null,
    seed: null,
    isSeedDue: false,
    provider_state: null,
  }
}

export function runEnded(
  next: State,
  record: SessionRecord & { run_id: string },
  at: Location,
  end: Partial<Run>,
): State {
  const run = openRun(next, record.run_id)
  if (end.status === 'completed') next.isSeedDue = false
  next.run = { ...run, ended_at: record.ts, process: null, wait: null, ...end }
  // The poke was for this run while it was open. It must not retry the run after its end.
  next.isPoked = false
  // The key of the open run is the last entry.
  const entry = next.keys.at(-1)
  if (run.key !== null && entry?.key === run.key) next.keys = next.keys.with(-1, { ...entry, end: at.end })
  return foldEnded(next, at)
}

/** The programs that the host of the record could not check. */
export function leftPrograms({ left, host_id, undecided }: NewRecord<'run.interrupted'>): Pick<Run, 'left'> {
  if (left === undefined) return {}
  const by = host_id === undefined ? {} : { checked_by: host_id }
  return { left: { groups: left, ...by, ...(undecided === true ? { undecided } : {}) } }
}

/** The run counts as interrupted by the death of its process, so it continues automatically unless a call of it is undecided. */
export function programsGone(next: State, { run_id }: NewRecord<'run.programs_gone'>): State {
  const { run, recovery } = next
  const { interruption } = recovery
  if (run?.run_id !== run_id || interruption?.reason !== 'other_host')
    throw new SessionStateError(`run ${run_id} has no programs on another host`)
  const { left, ...rest } = run
  const reason = left?.undecided === true ? 'unknown_tool' : 'process_exit'
  return {
    ...next,
    run: { ...rest, reason },
    recovery: { ...recovery, interruption: { ...interruption, reason } },
  }
}

function withKey(
  { keys, keys_since }: State,
  key: string,
  started_at: string,
  { seq, offset }: Location,
): Pick<State, 'keys' | 'keys_since'> {
  const others = keys.filter((entry) => entry.key !== key)
  const isFull = others.length >= limits.keysInStateMax
  const kept = [...others.slice(1 - limits.keysInStateMax), { key, seq, offset, started_at, end: 0 }]
  // Once keys were dropped, `keys_since` is the first remaining entry, so the state does not depend on when they were dropped.
  return { keys: kept, keys_since: isFull || keys_since > 0 ? (kept[0] as KeyEntry).seq : 0 }
}

/** Adds the usage in a record to its run, which must be open, and to the agent. */
export function withUsage(
  next: State,
  record: { run_id: string; usage?: Usage | undefined },
  usage = record.usage,
): State {
  return countUsage(next, openRun(next, record.run_id), usage)
}

export function openRun(state: State, runId: string): Run {
  if (state.run === null || state.run.status !== 'open')
    throw new SessionStateError(`run ${runId} is not open`)
  if (state.run.run_id !== runId)
    throw new SessionStateError(`run ${runId} is not the open run ${state.run.run_id}`)
  return state.run
}

/** The open run, or the latest one, whose conversation a person has compacted after its end: it did not compact that itself. */
export function compactedRun(state: State, runId: string): Run {
  return state.run?.status === 'open'
    ? { ...openRun(state, runId), isCompacted: true }
    : latestRun(state, runId)
}

/** A request for a summary by a person may fail after the end of the run, which stays as it ended. */
export function failedRequest(state: State, runId: string): Run {
  if (state.run?.status !== 'open') return latestRun(state, runId)
  const run = openRun(state, runId)
  return { ...run, phase: 'started', failures: run.failures + 1 }
}

function latestRun({ run }: State, runId: string): Run {
  if (run?.run_id !== runId) throw new SessionStateError(`run ${runId} is not the latest run`)
  return run
}
