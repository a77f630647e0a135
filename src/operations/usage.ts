/** `usage`: adds up the tokens and costs of agents. Takes no lock and writes nothing. */
import { missingLog } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import type { UsageRow, UsedView } from '../schema/output-overview.js'
import type { SessionUsage, Usage } from '../schema/types.js'
import { addUsage, countRun, NO_RUNS, withRun } from '../session/fold/usage.js'
import { peekState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import { usageInLog } from '../session/usage-log.js'
import type { Store } from '../storage/store.js'
import { branchOf } from '../tree/forest.js'

export interface UsageRequest {
  agentId?: string | undefined
  /** Only this agent and the agents below it. */
  treeOf?: string | undefined
  /** Include terminated agents. */
  all: boolean
  /** ISO 8601; null for everything. */
  since: string | null
  by: 'agent' | 'model' | 'day'
}

export function viewUsage(store: Store | undefined, request: UsageRequest): UsedView {
  const { by, since } = request
  const sums = new Sums()
  const damaged: string[] = []
  // The snapshot has the total of its agent, and nothing else.
  const isInSnapshot = by === 'agent' && since === null
  for (const id of store === undefined ? [] : agentsOf(store, request)) {
    try {
      const state = peekState(store as Store, id)
      if (state === undefined) throw missingLog(store as Store, id)
      if (!isMeant(state, request)) continue
      const names = { agent_id: id, path: state.path }
      if (isInSnapshot && state.usage !== null) sums.addTotal(id, names, state.usage)
      else addLog(store as Store, state, request, sums)
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
      damaged.push(id)
    }
  }
  return { by, since, total: sums.total, rows: sums.rows(by), damaged }
}

export function damageIn({ damaged: [first, ...others] }: UsedView): SubstratError | undefined {
  if (first === undefined) return undefined
  const count = others.length === 0 ? '1 agent is' : `${others.length + 1} agents are`
  return new SubstratError('CORRUPT', `${count} not counted, because the log cannot be read: ${first}`, {
    hint: `see what is damaged: substrat doctor ${first}`,
    facts: { damaged: [first, ...others] },
  })
}

function agentsOf(store: Store, { agentId, treeOf, all }: UsageRequest): Iterable<string> {
  if (agentId !== undefined) return [agentId]
  if (treeOf === undefined) return store.agentIds()
  const { agents, children } = branchOf(store, treeOf, all, peekState)
  const below = new Set([treeOf])
  // A set visits what is added during the loop, each agent once.
  for (const id of below) for (const child of children.get(id) ?? []) if (agents.has(child)) below.add(child)
  return below
}

function isMeant({ id, state }: State, { agentId, treeOf, all }: UsageRequest): boolean {
  return all || state !== 'terminated' || id === agentId || id === treeOf
}

/** A run counts in each row that it used, once, and by its start in the row of its agent or its day. */
function addLog(store: Store, { id, path, imported }: State, { by, since }: UsageRequest, sums: Sums): void {
  sums.startLog()
  const names = { agent_id: id, path }
  if (by === 'agent') sums.addTotal(id, names, NO_RUNS)
  for (const { ts, run_id, usage, models } of usageInLog(store, id, imported)) {
    if (since !== null && ts < since) continue
    const day = ts.slice(0, 10)
    sums.addPart(run_id, usage)
    if (by === 'agent') sums.add(id, names, run_id, usage)
    else if (by === 'day') sums.add(day, { day }, run_id, usage)
    else if (usage !== null && models.length === 0) sums.add('', { model: null }, run_id, usage)
    else for (const { model, ...part } of models) sums.add(`=${model}`, { model }, run_id, part)
  }
}

type Names = Pick<UsageRow, 'agent_id' | 'path' | 'model' | 'day'>

interface Sum {
  names: Names
  usage: SessionUsage
  /** The latest run in this row, and its usage in it. The runs of a log follow each other. */
  run_id: string
  ofRun: Usage | null
}

class Sums {
  private readonly sums = new Map<string, Sum>()
  private readonly whole: Sum = { names: {}, usage: NO_RUNS, run_id: '', ofRun: null }

  get total(): SessionUsage {
    return this.whole.usage
  }

  startLog(): void {
    this.whole.run_id = ''
  }

  addTotal(key: string, names: Names, usage: SessionUsage): void {
    this.sums.set(key, { names, usage, run_id: '', ofRun: null })
    const { runs, runs_with_usage, runs_with_cost, ...used } = usage
    const { total } = this
    this.whole.usage = {
      ...withRun(total, null, null, used),
      runs: total.runs + runs,
      runs_with_usage: total.runs_with_usage + runs_with_usage,
      runs_with_cost: total.runs_with_cost + runs_with_cost,
    }
  }

  addPart(run_id: string, usage: Usage | null): void {
    addTo(this.whole, run_id, usage)
  }

  add(key: string, names: Names, run_id: string, usage: Usage | null): void {
    const sum = this.sums.get(key) ?? { names, usage: NO_RUNS, run_id: '', ofRun: null }
    this.sums.set(key, sum)
    addTo(sum, run_id, usage)
  }

  /** Days in their order; agents and models as they were found. */
  rows(by: UsageRequest['by']): UsageRow[] {
    const keys = [...this.sums.keys()]
    if (by !== 'agent') keys.sort()
    return keys.map((key) => {
      const { names, usage } = this.sums.get(key) as Sum
      return { ...names, ...usage }
    })
  }
}

function addTo(sum: Sum, run_id: string, usage: Usage | null): void {
  if (sum.run_id !== run_id) Object.assign(sum, { run_id, ofRun: null, usage: countRun(sum.usage) })
  if (usage === null) return
  const after = addUsage(sum.ofRun, usage)
  sum.usage = withRun(sum.usage, sum.ofRun, after, usage)
  sum.ofRun = after
}
