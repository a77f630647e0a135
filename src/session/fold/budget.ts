/**
 * Adds up the use of an agent under the caps over it.
 *
 * Invariants: only `budget.held` begins to count, so an agent without a cap over it has no counts. A request holds before it is sent,
 * and its response settles the hold. The hold of a request without an answer is spent. The windows never fall.
 */
import type { Amounts, BudgetState, UsedWindow, WindowIds } from '../../schema/budget.js'
import { BUDGET_PERIODS } from '../../schema/words.js'
import type { NewRecord, Place, SessionRecord } from '../records.js'
import type { State } from '../state.js'

const FIELDS = ['tokens', 'usd', 'turns', 'requests', 'time_ms'] as const
export const WINDOWS = ['total', ...BUDGET_PERIODS] as const
const AMOUNT_MAX = Number.MAX_SAFE_INTEGER

/** The budget after this record, which has changed the state from `before` to `next`. */
export function foldBudget(before: State, next: State, record: SessionRecord): BudgetState | undefined {
  const { budget } = next
  if (record.kind === 'session.configured' && record.budget !== undefined)
    return withCaps(budget ?? {}, record.budget)
  if (record.kind === 'budget.held') return held(budget ?? {}, record)
  if (record.kind === 'budget.granted') return granted(budget ?? {}, record)
  if (budget === undefined) return undefined
  switch (record.kind) {
    case 'session.imported':
      return withCaps({}, budget.caps ?? [])
    case 'run.started':
      return afterIdle(freedLike(budget, record), undefined)
    case 'run.resumed':
      return afterIdle(budget, undefined)
    default:
      return settledBy(counted(budget, before, next, record), before, record)
  }
}

/** A run that continues a freed one is of the same turn. */
function freedLike(budget: BudgetState, { run_id, continues }: NewRecord<'run.started'>): BudgetState {
  const isFreed = continues !== undefined && continues === budget.free_run
  return isFreed ? { ...budget, free_run: run_id } : budget
}

function withCaps(
  { caps: _, ...rest }: BudgetState,
  caps: BudgetState['caps'] = [],
): BudgetState | undefined {
  if (caps.length > 0) return { caps, ...rest }
  return Object.keys(rest).length === 0 ? undefined : rest
}

/** The budget with a new hold, as after its record. */
export function held(budget: BudgetState, record: NewRecord<'budget.held'> & Pick<Place, 'ts'>): BudgetState {
  const { run_id, amounts, windows, cached_weight, ts } = record
  // A crash left it: the log has no answer.
  const known = budget.hold === undefined ? budget : unanswered(budget)
  const idleMs = known.idle_since === undefined ? 0 : Date.parse(ts) - Date.parse(known.idle_since)
  const next = afterIdle(inWindows(known, windows), undefined)
  const timed = idleMs > 0 ? spend(next, { time_ms: idleMs }) : next
  const weight = cached_weight === undefined ? {} : { cached_weight }
  return {
    ...timed,
    hold: { run_id, amounts, used: {}, since: ts, ...weight },
    ...((amounts.turns ?? 0) > 0 ? { counted_run: run_id } : {}),
  }
}

/** A window with a later id begins at nothing. One that the record does not name stays as it is. */
function inWindows(budget: BudgetState, ids: WindowIds): BudgetState {
  const next: BudgetState = { ...budget, total: budget.total ?? { id: '', spent: {} } }
  for (const period of BUDGET_PERIODS) {
    const id = ids[period]
    if (id !== undefined && id > (next[period]?.id ?? '')) next[period] = { id, spent: {} }
  }
  return next
}

function granted(
  budget: BudgetState,
  { run_id, amounts, windows = {}, once }: NewRecord<'budget.granted'>,
): BudgetState {
  const freed: BudgetState = { ...budget, ...(once === true ? { free_run: run_id } : {}) }
  if (amounts === undefined) return freed
  const next = inWindows(freed, windows)
  for (const name of WINDOWS) {
    const window = next[name]
    if (window !== undefined) next[name] = { ...window, granted: sum(window.granted ?? {}, amounts) }
  }
  return next
}

/** Adds the usage of a record to that of the open hold. Usage after the last answer is spent at once. */
function counted(budget: BudgetState, before: State, next: State, record: SessionRecord): BudgetState {
  if (!('usage' in record) || record.usage === undefined) return budget
  const { hold } = budget
  const used = usageBetween(before, next, hold?.cached_weight ?? 1, record.usage.cost_usd !== undefined)
  if (hold === undefined || !isOf(record, hold.run_id)) return spend(budget, used)
  return { ...budget, hold: { ...hold, used: sum(hold.used, used) } }
}

function usageBetween({ usage: a }: State, { usage: b }: State, weight: number, hasCost: boolean): Amounts {
  if (a === null || b === null) return {}
  const cached = (b.cache_read_tokens ?? 0) - (a.cache_read_tokens ?? 0)
  const tokens = b.input_tokens + b.output_tokens - a.input_tokens - a.output_tokens
  const usd = Math.round(((b.cost_usd ?? 0) - (a.cost_usd ?? 0)) * 1e9) / 1e9
  return {
    tokens: Math.max(0, Math.ceil(tokens - (1 - weight) * cached)),
    ...(hasCost ? { usd: Math.max(0, usd) } : {}),
  }
}

/** The records that end a request, and whether it had an answer. */
function settledBy(budget: BudgetState, { run }: State, record: SessionRecord): BudgetState {
  const { hold } = budget
  if (hold === undefined) return record.kind in ENDS ? withIdleEnd(budget, record) : budget
  if (!isOf(record, hold.run_id)) return budget
  switch (record.kind) {
    case 'model.responded':
    case 'context.tried':
      return afterIdle(settle(budget, record.ts, 'answered'), record.ts)
    case 'context.compacted':
      // In a turn it is in the batch of the response that settles.
      return run?.status === 'open' ? budget : settle(budget, record.ts, 'answered')
    case 'model.failed':
      // The record that ends the turn of a program has its usage.
      if (run?.phase === 'launched') return budget
      return afterIdle(settle(budget, record.ts, isFree(record) ? 'free' : 'unknown'), record.ts)
    case 'run.completed':
    case 'run.waiting':
      return settle(budget, record.ts, 'answered')
    case 'run.interrupted':
      // Recovery writes it for a dead process, whose end is unknown.
      return LIVE.includes(record.reason) ? settle(budget, record.ts, 'unknown') : unanswered(budget)
    case 'run.failed':
    case 'run.cancelled':
      return settle(budget, record.ts, 'unknown')
    default:
      return budget
  }
}

const ENDS = {
  'run.completed': true,
  'run.failed': true,
  'run.cancelled': true,
  'run.interrupted': true,
  'run.waiting': true,
}

/** A service does not charge for a request that it refuses. After its answer began, no type of error says so. */
function isFree({ error, answer_began, usage, model }: NewRecord<'model.failed'>): boolean {
  const hasBegun = answer_began === true || usage !== undefined || model !== undefined
  return !hasBegun && FREE.includes(error.type)
}

const FREE: string[] = [
  'rate_limit',
  'overloaded',
  'authentication',
  'billing',
  'misconfigured',
  'invalid',
  'overflow',
]

/** The reasons that the process of the run records itself. */
const LIVE: string[] = ['shutdown', 'suspended', 'program_killed', 'unknown_tool']

function withIdleEnd(budget: BudgetState, record: SessionRecord): BudgetState {
  const { idle_since } = budget
  if (idle_since === undefined) return budget
  const isDead = record.kind === 'run.interrupted' && !LIVE.includes(record.reason)
  const ms = isDead ? 0 : Date.parse(record.ts) - Date.parse(idle_since)
  return afterIdle(spend(budget, { time_ms: Math.max(0, ms) }), undefined)
}

function afterIdle({ idle_since: _, ...rest }: BudgetState, since: string | undefined): BudgetState {
  return since === undefined ? rest : { ...rest, idle_since: since }
}

/**
 * `answered`: a part that the provider did not report stays as it was held. `free`: it used only what it reported. `unknown`: it may have
 * used more than it reported, so the larger one of the two counts.
 */
function settle(budget: BudgetState, ts: string, how: 'answered' | 'free' | 'unknown'): BudgetState {
  const { hold, ...rest } = budget
  if (hold === undefined) return budget
  const { amounts, used, since } = hold
  const of = (field: 'tokens' | 'usd'): number | undefined => {
    if (how === 'free') return used[field]
    if (how === 'answered') return used[field] ?? amounts[field]
    return used[field] === undefined ? amounts[field] : Math.max(used[field], amounts[field] ?? 0)
  }
  const { turns, requests } = amounts
  const time_ms = Math.max(0, Date.parse(ts) - Date.parse(since))
  return spend(rest, { tokens: of('tokens'), usd: of('usd'), turns, requests, time_ms })
}

/** The hold of a request without an answer is spent. */
export function unanswered(budget: BudgetState): BudgetState {
  const { hold, ...rest } = budget
  if (hold === undefined) return budget
  const { amounts, used } = hold
  return {
    ...spend(rest, { ...amounts, ...largest(amounts, used) }),
    unanswered: (rest.unanswered ?? 0) + 1,
  }
}

function largest(a: Amounts, b: Amounts): Amounts {
  const of = (field: 'tokens' | 'usd'): Amounts =>
    a[field] === undefined && b[field] === undefined
      ? {}
      : { [field]: Math.max(a[field] ?? 0, b[field] ?? 0) }
  return { ...of('tokens'), ...of('usd') }
}

/** In each window of the agent. A hold is settled before its windows change. */
function spend(budget: BudgetState, used: Amounts): BudgetState {
  const next = { ...budget }
  for (const name of WINDOWS) {
    const window = next[name]
    if (window !== undefined) next[name] = { ...window, spent: sum(window.spent, used) } satisfies UsedWindow
  }
  return next
}

function sum(a: Amounts, b: Amounts): Amounts {
  const total: Amounts = {}
  for (const field of FIELDS) {
    const value = (a[field] ?? 0) + (b[field] ?? 0)
    // The 0 of a report differs from no report.
    if (value === 0 && a[field] === undefined && b[field] === undefined) continue
    total[field] =
      field === 'usd' ? Math.round(Math.min(value, 1e12) * 1e9) / 1e9 : Math.min(value, AMOUNT_MAX)
  }
  return total
}

function isOf(record: SessionRecord, runId: string): boolean {
  return 'run_id' in record && record.run_id === runId
}
