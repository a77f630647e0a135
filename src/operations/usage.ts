/** `usage`: adds up the tokens and costs of agents. Takes no lock and writes nothing. */
import { missingLog } from '../dispatch/read-state.js'
import { homeBudget, ownBudget } from '../dispatch/view-budget.js'
import { SubstratError } from '../errors.js'
import type { RemovedAgent } from '../format.js'
import type { BudgetUse } from '../schema/output.js'
import type { UsageRow, UsedView } from '../schema/output-overview.js'
import { NO_RUNS } from '../session/fold/usage.js'
import { peekState, readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import { addTo, type Grouping, type Sums, sumsOfLog, sumsOfRemoved } from '../session/usage-sums.js'
import type { Store } from '../storage/store.js'
import { branchOf, lowestFirst, oldestFirst } from '../tree/forest.js'

export interface UsageRequest extends Grouping {
  agentId?: string | undefined
  /** Only this agent and the agents below it. */
  treeOf?: string | undefined
  /** Include terminated and removed agents. */
  all: boolean
}

export function viewUsage(store: Store | undefined, request: UsageRequest): UsedView {
  const { by, since } = request
  const counted: { id: string; created_at: string; sums: Sums }[] = []
  const damaged: string[] = []
  for (const id of store === undefined ? [] : agentsOf(store, request)) {
    try {
      const state = peekState(store as Store, id)
      if (state === undefined && !store?.hasAgent(id)) continue
      if (state === undefined) throw missingLog(store as Store, id)
      const { created_at } = state
      if (isMeant(state, request))
        counted.push({ id, created_at, sums: sumsOf(store as Store, state, request) })
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      damaged.push(id)
    }
  }
  const ids = new Set(counted.map(({ id }) => id))
  let removed = 0
  for (const each of store === undefined ? [] : removedIn(store, request, ids)) {
    if (typeof each === 'string') damaged.push(each)
    else {
      removed += 1
      counted.push({ id: each.agent_id, created_at: each.created_at, sums: sumsOfRemoved(each, request) })
    }
  }
  const all: Sums = { total: NO_RUNS, rows: new Map() }
  for (const { sums } of counted.sort(oldestFirst)) addTo(all, sums)
  const budgets = store === undefined ? [] : budgetsOf(store, request, ids)
  return {
    by,
    since,
    total: all.total,
    rows: rowsInOrder(all, by),
    ...(budgets.length === 0 ? {} : { budgets }),
    removed,
    damaged,
  }
}

/** The caps of the counted agents, and of the home if all are counted. */
function budgetsOf(store: Store, { agentId, treeOf }: UsageRequest, ids: Set<string>): BudgetUse[] {
  const isAll = agentId === undefined && treeOf === undefined
  const own = store.accounts?.isUsed === true ? [...ids] : []
  return [
    ...(isAll ? homeBudget(store) : []),
    ...own.flatMap((id) => {
      const state = readableState(store, id)
      return state === undefined ? [] : ownBudget(store, state)
    }),
  ]
}

/** The removed agents that are meant, and the ids of those whose files are damaged. `ids`: the agents that are counted. */
function removedIn(
  store: Store,
  { agentId, treeOf, all }: UsageRequest,
  ids: Set<string>,
): (RemovedAgent | string)[] {
  if (!all || agentId !== undefined) return []
  const gone = store.removed.all().filter((each) => !store.hasAgent(each.agentId))
  if (treeOf === undefined) return gone.map(({ agentId: id, removed }) => removed ?? id)
  const below = new Set(ids)
  // An agent is removed before its parent, so a parent may be found after its child.
  for (let size = -1; size < below.size; ) {
    size = below.size
    for (const { removed } of gone)
      if (removed?.parent_id != null && below.has(removed.parent_id)) below.add(removed.agent_id)
  }
  return gone.flatMap(({ removed }) =>
    removed !== undefined && below.has(removed.agent_id) ? [removed] : [],
  )
}

/** Agents are in the order of `list`, days and models in theirs. */
function rowsInOrder({ rows }: Sums, by: UsageRequest['by']): UsageRow[] {
  const keys = [...rows.keys()]
  if (by !== 'agent') keys.sort()
  return keys.map((key) => rows.get(key) as UsageRow)
}

export function damageIn({ damaged: [first, ...others] }: UsedView): SubstratError | undefined {
  if (first === undefined) return undefined
  const count = others.length === 0 ? '1 agent is' : `${others.length + 1} agents are`
  return new SubstratError('CORRUPT', `${count} not counted, because the log cannot be read: ${first}`, {
    hint: 'see what is damaged: substrat doctor --all',
    facts: { damaged: [first, ...others] },
  })
}

function agentsOf(store: Store, { agentId, treeOf, all }: UsageRequest): Iterable<string> {
  if (agentId !== undefined) return [agentId]
  if (treeOf === undefined) return store.agentIds()
  // The damaged ones below it are included: they are reported, and the agents below them are counted.
  return lowestFirst(branchOf(store, treeOf, all, peekState), treeOf)
}

function isMeant({ id, state }: State, { agentId, treeOf, all }: UsageRequest): boolean {
  return all || state !== 'terminated' || id === agentId || id === treeOf
}

/** An agent whose log cannot be read counts nowhere, not even with the part before the damage. */
function sumsOf(store: Store, state: State, request: UsageRequest): Sums {
  const { id, path, usage } = state
  // The snapshot has the total of its agent, and nothing else.
  if (request.by !== 'agent' || request.since !== null || usage === null)
    return sumsOfLog(store, state, request)
  return { total: usage, rows: new Map([[id, { agent_id: id, path, ...usage }]]) }
}
