/** Folds the records of the session itself: creation, settings, lifecycle. */
import { SessionStateError } from '../../errors.js'
import type { NewRecord, Place } from '../records.js'
import type { Location, OutboxEntry, SessionState, State, WorkspaceHost } from '../state.js'
import { NO_RUNS } from './usage.js'

export function foldCreated(record: NewRecord<'session.created'> & Place, at: Location): State {
  return {
    format: record.format,
    id: record.agent_id,
    name: record.name,
    title: null,
    parent: record.parent,
    path: record.path ?? record.name ?? record.agent_id,
    state: 'created',
    hold: false,
    gate: { isGated: false, permits: 0 },
    isPoked: false,
    metadata: {},
    provider_name: record.provider,
    options: record.options,
    model: record.model,
    workspace: record.workspace,
    instructions: record.instructions,
    allow: record.allow ?? [],
    created_at: record.ts,
    updated_at: record.ts,
    suspended_at: null,
    provider_state: null,
    seed: null,
    isSeedDue: false,
    last_seq: at.seq,
    last_offset: at.offset,
    log_bytes: at.end,
    context_offset: at.offset,
    context_seq: at.seq,
    compaction: null,
    run: null,
    reply: null,
    keys: [],
    keys_since: 0,
    tokens: [],
    delivered: [],
    delivered_forgotten: 0,
    owes: [],
    isDone: false,
    reminders: [],
    watchers: [],
    recovery: { last_boot_seen: null, interruption: null, barren_attempts: 0, unanswered_requests: 0 },
    usage: NO_RUNS,
    ...placeOf(record, record.workspace_scope ?? 'host'),
    ...contextOf(record.context),
    ...rulesOf(record.on_unknown),
    ...(record.budget === undefined || record.budget.length === 0 ? {} : { budget: { caps: record.budget } }),
  }
}

/** Absent without a rule, as in the states before rules. */
function rulesOf(on_unknown: string[] = []): Pick<State, 'on_unknown'> {
  return on_unknown.length === 0 ? {} : { on_unknown }
}

/** Absent for `all`, so that the states of agents without the setting stay as they are. */
function contextOf(context: string | undefined): Pick<State, 'context'> {
  return context === undefined || context === 'all' ? {} : { context }
}

type Placed = { host_id?: string | undefined; host_name?: string | undefined }

/** The field is absent, not undefined, because a snapshot must be equal to the fold. */
export function placeOf(
  { host_id, host_name }: Placed,
  scope: WorkspaceHost['scope'],
): Pick<State, 'workspace_host'> {
  if (host_name === undefined) return {}
  return { workspace_host: { ...(host_id === undefined ? {} : { host_id }), host_name, scope } }
}

/** A format only ever rises. */
export function foldUpgraded(
  next: State,
  { from_format: from, to_format: to }: NewRecord<'session.upgraded'>,
): State {
  if (from !== next.format || to <= from)
    throw new SessionStateError(`a session of format ${next.format} cannot be upgraded from ${from} to ${to}`)
  return { ...next, format: to }
}

const MOVES: Record<SessionState, SessionState[]> = {
  created: ['active', 'terminated'],
  active: ['suspended', 'terminated'],
  suspended: ['active', 'terminated'],
  terminated: [],
}

export function moveTo(next: State, to: SessionState): State {
  if (!MOVES[next.state].includes(to))
    throw new SessionStateError(`a session that is ${next.state} cannot become ${to}`)
  return { ...next, state: to }
}

export function foldConfigured(
  known: State,
  record: NewRecord<'session.configured'> & { ts: string },
): State {
  const all = record.forgets_refusals === true ? withoutRefused(known) : known
  const before = record.on_unknown === undefined ? all : withRules(all, record.on_unknown)
  const next = record.context === undefined ? before : withContext(before, record.context)
  const { instructions, options, model, workspace, title, hold, allow, metadata } = record
  if (instructions !== undefined) next.instructions = instructions
  if (options !== undefined) next.options = { ...next.options, ...options }
  if (model !== undefined) next.model = model
  if (workspace !== undefined) next.workspace = workspace
  if (title !== undefined) next.title = title
  if (hold !== undefined) next.hold = hold
  if (allow !== undefined) Object.assign(next, grantsAfter(next, record, allow))
  if (metadata !== undefined) next.metadata = mergedOptions(next.metadata, metadata)
  const { workspace_host: place } = next
  const { workspace_scope = place?.scope ?? 'host' } = record
  Object.assign(next, placeOf(record.host_name === undefined ? (place ?? {}) : record, workspace_scope))
  return next
}

function withoutRefused({ refused: _, ...rest }: State): State {
  return rest
}

function withRules({ on_unknown: _, ...rest }: State, rules: string[]): State {
  return { ...rest, ...rulesOf(rules) }
}

function withContext({ context: _, ...rest }: State, context: string): State {
  return { ...rest, ...contextOf(context) }
}

/** An entry that stays keeps its source. */
function grantsAfter(
  { allow: before, grants = [] }: State,
  { ts, allowed_by }: NewRecord<'session.configured'> & { ts: string },
  allow: string[],
): Partial<State> {
  const kept = grants.filter(({ entry }) => allow.includes(entry))
  const added = allow.filter((entry) => !before.includes(entry))
  const all = [...kept, ...added.map((entry) => ({ entry, by: allowed_by ?? ('set' as const), since: ts }))]
  return { allow, grants: all.length === 0 ? undefined : all }
}

function mergedOptions(
  before: Record<string, string>,
  changes: Record<string, string | null>,
): Record<string, string> {
  const after = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) after.delete(key)
    else after.set(key, value)
  }
  return Object.fromEntries(after)
}

/**
 * A session whose damaged log was rebuilt. It continues no turn and takes no mail until a person resumes it. Mail that was
 * delivered is not delivered again although its record is lost, and each requester gets an error.
 */
export function foldRebuilt(next: State, record: NewRecord<'session.rebuilt'> & Place, at: Location): State {
  const known = new Set(next.delivered)
  // The lost records may have removed the schedules, or accounted for some of their slots.
  const { schedules: _, ...kept } = next
  const { keys, key_hashes = [], more_key_hashes } = record
  const hasKeys = keys.length + key_hashes.length > 0 || more_key_hashes !== undefined
  return {
    ...kept,
    hold: true,
    isPoked: false,
    delivered: [...next.delivered, ...record.delivered.filter((id) => !known.has(id))],
    owes: [...next.owes, ...record.requests.map((request) => errorTo(request, at))],
    // The lost records may have delivered or cancelled some of the reminders.
    reminders: [],
    // There may be very many keys. The key index has them at this record.
    ...(hasKeys ? { keys: [], keys_since: at.seq + 1 } : {}),
    lost: { kept: [...(next.lost?.kept ?? []), record.kept] },
    recovery: { ...next.recovery, interruption: null, barren_attempts: 0, unanswered_requests: 0 },
  }
}

/**
 * A copy of an agent. It keeps the conversation and the settings. Mail, outbound messages, waits, tokens, keys, watchers, schedules and the program's own
 * session belong to the original, and so does the usage.
 */
export function foldImported(next: State, record: NewRecord<'session.imported'>, at: Location): State {
  if (next.run?.status === 'open' || next.warm !== undefined)
    throw new SessionStateError('a session with an open run or a server cannot be a copy')
  const {
    lost: _,
    outbound: __,
    channel: ___,
    refused: ____,
    schedules: _____,
    workspace_host,
    ...kept
  } = next
  return {
    ...kept,
    ...placeOf(record, workspace_host?.scope ?? 'host'),
    gate: { isGated: false, permits: 0 },
    isPoked: false,
    provider_state: null,
    run: null,
    keys: [],
    keys_since: 0,
    tokens: [],
    delivered: [],
    delivered_forgotten: 0,
    owes: [],
    reminders: [],
    watchers: [],
    recovery: { last_boot_seen: null, interruption: null, barren_attempts: 0, unanswered_requests: 0 },
    usage: NO_RUNS,
    imported: at,
  }
}

/** If the request was already answered, it is no longer open at the requester, which then ignores the error. */
export function errorTo(
  { message_id, from }: { message_id: string; from: string },
  { seq }: Location,
  reason: 'log_damaged' | 'moved' = 'log_damaged',
): OutboxEntry {
  return {
    to: from,
    kind: 'error',
    reply_to: message_id,
    status: null,
    run_id: message_id,
    seq,
    reply: null,
    trouble: { status: 'cancelled', reason, error: null },
  }
}
