/**
 * The verdict of the accounts of budgets about the next request of an agent.
 *
 * Invariants: the logs are the truth. An entry of an agent that no process holds may be too high, because its process died between its
 * entry and its record; it is read from the log before it refuses anything. An entry is never too low.
 */
import { HOME_ACCOUNT } from '../../format.js'
import type { Amounts, BudgetState, Cap, WindowIds } from '../../schema/budget.js'
import { BUDGET_PERIODS, type BudgetPeriod } from '../../schema/words.js'
import { FIELDS } from '../../session/budget/caps.js'
import { unanswered, WINDOWS } from '../../session/fold/budget.js'
import { openForRead } from '../../session/load.js'
import { readableState } from '../../session/peek-state.js'
import type { Account, AccountEntry, Store } from '../../storage/store.js'
import { branchOf, lowestFirst } from '../../tree/forest.js'
import type { Scope } from './scopes.js'

/** A cap that the next request would exceed. */
export interface Excess {
  scope: Scope
  cap: Cap
  /** The window. Empty for a total. */
  window: string
  spent: number
  /** By requests that run now, of other agents. */
  held: number
  /** The next request's own. */
  next: number
}

export interface Verdict {
  excesses: Excess[]
  /** Whether the excess ends if running requests use less than they hold. */
  isBusy: boolean
}

export function entryOf(agentId: string, budget: BudgetState): AccountEntry {
  const windows: AccountEntry['windows'] = {}
  for (const name of WINDOWS) {
    const window = budget[name]
    if (window !== undefined)
      windows[name] = { id: window.id, spent: difference(window.spent, window.granted ?? {}) }
  }
  const { hold } = budget
  return { agentId, windows, ...(hold === undefined ? {} : { hold: larger(hold.amounts, hold.used) }) }
}

const AMOUNTS = ['tokens', 'usd', 'turns', 'requests', 'time_ms'] as const

function difference(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(AMOUNTS.map((field) => [field, (a[field] ?? 0) - (b[field] ?? 0)]))
}

function larger(a: Amounts, b: Amounts): Amounts {
  return Object.fromEntries(AMOUNTS.map((field) => [field, Math.max(a[field] ?? 0, b[field] ?? 0)]))
}

/** The latest windows that any of these entries knows. */
export function latestWindows(entries: Iterable<AccountEntry>): WindowIds {
  const latest: WindowIds = {}
  for (const { windows } of entries)
    for (const period of BUDGET_PERIODS) {
      const id = windows[period]?.id
      if (id !== undefined && id > (latest[period] ?? '')) latest[period] = id
    }
  return latest
}

/** The use of a cap by all agents below it but one. */
export function usedOf(
  { unit, per }: Cap,
  window: string,
  entries: AccountEntry[],
  except?: string,
): { spent: number; held: Map<string, number> } {
  const field = FIELDS[unit]
  const held = new Map<string, number>()
  let spent = 0
  for (const { agentId, windows, hold } of entries) {
    const found = windows[per ?? 'total']
    if (agentId === except || found === undefined || found.id !== window) continue
    spent += found.spent[field] ?? 0
    const amount = hold?.[field] ?? 0
    if (amount > 0) held.set(agentId, amount)
  }
  return { spent: round(spent), held }
}

export function windowOf({ per }: Cap, windows: WindowIds): string {
  return per === undefined ? '' : (windows[per as BudgetPeriod] ?? '')
}

/** Whether the agent may hold what its entry says. `accounts` are those of the scopes. `patient`: of the agents above it. */
export function judge(
  scopes: Scope[],
  accounts: Pick<Account, 'entries'>[],
  own: AccountEntry,
  windows: WindowIds,
): Verdict {
  const excesses: Excess[] = []
  let isBusy = true
  const above = new Set(scopes.map(({ id }) => id))
  scopes.forEach((scope, index) => {
    for (const cap of scope.caps) {
      const next = own.hold?.[FIELDS[cap.unit]] ?? 0
      if (next === 0) continue
      const window = windowOf(cap, windows)
      const others = usedOf(cap, window, accounts[index]?.entries ?? [], own.agentId)
      const spent = round(others.spent + (own.windows[cap.per ?? 'total']?.spent[FIELDS[cap.unit]] ?? 0))
      const held = round([...others.held.values()].reduce((all, each) => all + each, 0))
      if (round(spent + held + next) <= cap.max) continue
      excesses.push({ scope, cap, window, spent, held, next })
      // The request of an agent above may run until this agent has ended its turn.
      const stays = [...others.held].filter(([id]) => above.has(id)).reduce((all, [, each]) => all + each, 0)
      if (round(spent + stays + next) > cap.max) isBusy = false
    }
  })
  return { excesses, isBusy: excesses.length > 0 && isBusy }
}

/** Sums of dollars have no digits that no provider reported. */
function round(amount: number): number {
  return Math.round(amount * 1e9) / 1e9
}

/** The entries of each account, complete. Those that were read from the logs are in `changed`. */
export interface Known {
  entries: AccountEntry[]
  changed: AccountEntry[]
}

export function completeEntries(store: Store, { id }: Scope, { isTrusted, entries }: Account): Known {
  return isTrusted ? { entries, changed: [] } : rebuilt(store, id, entries)
}

/** The entries with holds of agents that no process holds, as their logs have them. */
export function refreshed(store: Store, { entries, changed }: Known, except: string): Known {
  const dead = entries.filter(
    ({ agentId, hold }) => hold !== undefined && agentId !== except && !store.isHeld(agentId),
  )
  const read = new Map(dead.map((entry) => [entry.agentId, entryInLog(store, entry)]))
  const latest = (entry: AccountEntry): AccountEntry => read.get(entry.agentId) ?? entry
  const known = changed.filter(({ agentId }) => !read.has(agentId))
  return { entries: entries.map(latest), changed: [...known, ...read.values()] }
}

/** A request whose process died has no answer. An agent that was removed had none running. */
function entryInLog(store: Store, { agentId, windows }: AccountEntry): AccountEntry {
  const state = openForRead(store, agentId)?.state
  return state === undefined ? { agentId, windows } : entryOf(agentId, unanswered(state.budget ?? {}))
}

function rebuilt(store: Store, scope: string, stored: AccountEntry[]): Known {
  const ids =
    scope === HOME_ACCOUNT
      ? store.agentIds()
      : lowestFirst(branchOf(store, scope, true, readableState), scope)
  const known = new Map(stored.map((entry) => [entry.agentId, entry]))
  const entries = ids.flatMap((agentId): AccountEntry[] => {
    const budget = readableState(store, agentId)?.budget
    const entry = known.get(agentId)
    if (!store.isHeld(agentId)) return budget === undefined ? [] : [entryOf(agentId, unanswered(budget))]
    // Its process may be about to record what its entry says.
    if (budget === undefined) return entry === undefined ? [] : [entry]
    return [entry === undefined ? entryOf(agentId, budget) : combined(entryOf(agentId, budget), entry)]
  })
  const removed = removedBelow(store, scope, new Set(ids)).map(({ agent_id, budget }) =>
    entryOf(agent_id, budget),
  )
  const all = [...entries, ...removed]
  return { entries: all, changed: all }
}

/** The larger one in each window. */
function combined(a: AccountEntry, b: AccountEntry): AccountEntry {
  const windows = { ...a.windows }
  for (const [name, window] of Object.entries(b.windows)) {
    const known = windows[name]
    if (known === undefined || window.id > known.id) windows[name] = window
    else if (window.id === known.id)
      windows[name] = { id: known.id, spent: larger(known.spent, window.spent) }
  }
  return { agentId: a.agentId, windows, ...((b.hold ?? a.hold) ? { hold: b.hold ?? a.hold } : {}) }
}

function removedBelow(
  store: Store,
  scope: string,
  ids: Set<string>,
): { agent_id: string; budget: BudgetState }[] {
  const gone = store.removed
    .all()
    .flatMap(({ agentId, removed }) => (removed === undefined || store.hasAgent(agentId) ? [] : [removed]))
  const below = new Set(ids)
  for (let size = -1; size < below.size; ) {
    size = below.size
    for (const { agent_id, parent_id } of gone)
      if (scope === HOME_ACCOUNT || (parent_id !== null && below.has(parent_id))) below.add(agent_id)
  }
  return gone.flatMap(({ agent_id, budget }) =>
    budget !== undefined && below.has(agent_id) && !ids.has(agent_id)
      ? [{ agent_id, budget: budget as BudgetState }]
      : [],
  )
}
