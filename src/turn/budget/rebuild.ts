/**
 * The entries of an account from the logs, which are the truth: after a boot, after damage, and for agents that no process holds.
 *
 * Invariant: an agent whose log cannot be read never counts as nothing. Its last known entry counts, or the account is not complete.
 */
import { SubstratError } from '../../errors.js'
import { HOME_ACCOUNT } from '../../format.js'
import type { BudgetState } from '../../schema/budget.js'
import { unanswered } from '../../session/fold/budget.js'
import { openForRead } from '../../session/load.js'
import { peekState } from '../../session/peek-state.js'
import { snapshotAlone } from '../../session/snapshot.js'
import type { State } from '../../session/state.js'
import type { Account, AccountEntry, Store } from '../../storage/store.js'
import { branchOf, lowestFirst } from '../../tree/forest.js'
import { entryOf, larger } from './account.js'
import type { Scope } from './scopes.js'

/** The entries of each account. Those that were read from the logs are in `changed`. */
export interface Known {
  entries: AccountEntry[]
  changed: AccountEntry[]
  /** Agents whose use is unknown, because their logs are damaged and nothing else has it. */
  unknown: string[]
}

export function completeEntries(store: Store, { id }: Scope, { isTrusted, entries }: Account): Known {
  return isTrusted ? { entries, changed: [], unknown: [] } : rebuilt(store, id, entries)
}

/** The entries with holds of agents that no process holds, as their logs have them. */
export function refreshed(store: Store, { entries, changed, unknown }: Known, except: string): Known {
  const dead = entries.filter(
    ({ agentId, hold }) => hold !== undefined && agentId !== except && !store.isHeld(agentId),
  )
  const read = new Map(dead.map((entry) => [entry.agentId, entryInLog(store, entry)]))
  const latest = (entry: AccountEntry): AccountEntry => read.get(entry.agentId) ?? entry
  const known = changed.filter(({ agentId }) => !read.has(agentId))
  return { entries: entries.map(latest), changed: [...known, ...read.values()], unknown }
}

/** A request whose process died has no answer. An entry stays as it is if nothing else says what its agent used. */
function entryInLog(store: Store, entry: AccountEntry): AccountEntry {
  const { agentId } = entry
  const state = readable(() => openForRead(store, agentId)?.state)
  if (state === DAMAGED) return entry
  if (state !== undefined) return entryOf(agentId, unanswered(state.budget ?? {}))
  const gone = store.removed.all().find((each) => each.agentId === agentId)?.removed
  return gone?.budget === undefined ? entry : entryOf(agentId, unanswered(gone.budget as BudgetState))
}

const DAMAGED = Symbol('damaged')

function readable(read: () => State | undefined): State | undefined | typeof DAMAGED {
  try {
    return read()
  } catch (error) {
    if (error instanceof SubstratError) return DAMAGED
    throw error
  }
}

function rebuilt(store: Store, scope: string, stored: AccountEntry[]): Known {
  const ids =
    scope === HOME_ACCOUNT ? store.agentIds() : lowestFirst(branchOf(store, scope, true, peekState), scope)
  const known = new Map(stored.map((entry) => [entry.agentId, entry]))
  const unknown: string[] = []
  const entries = ids.flatMap((agentId): AccountEntry[] => {
    const state = readable(() => peekState(store, agentId))
    const entry = known.get(agentId)
    if (state === DAMAGED) {
      const last = lastKnown(store, agentId, entry)
      if (last === undefined) unknown.push(agentId)
      return last ?? []
    }
    const budget = state?.budget
    if (!store.isHeld(agentId)) return budget === undefined ? [] : [entryOf(agentId, unanswered(budget))]
    // Its process may be about to record what its entry says.
    if (budget === undefined) return entry === undefined ? [] : [entry]
    return [entry === undefined ? entryOf(agentId, budget) : combined(entryOf(agentId, budget), entry)]
  })
  const removed = removedBelow(store, scope, new Set(ids)).map(({ agent_id, budget }) =>
    entryOf(agent_id, unanswered(budget)),
  )
  const all = [...entries, ...removed]
  return { entries: all, changed: all, unknown }
}

/** The snapshot and the entry of an agent with a damaged log. Undefined if neither is there. */
function lastKnown(
  store: Store,
  agentId: string,
  entry: AccountEntry | undefined,
): AccountEntry[] | undefined {
  const snapshot = snapshotAlone(store.upkeep.readSnapshot(agentId), agentId)
  if (snapshot === undefined) return entry && [entry]
  if (snapshot.budget === undefined) return entry === undefined ? [] : [entry]
  const inSnapshot = entryOf(agentId, unanswered(snapshot.budget))
  return [entry === undefined ? inSnapshot : combined(inSnapshot, entry)]
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
