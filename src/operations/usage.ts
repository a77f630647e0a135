/** `usage`: adds up the tokens and costs of agents. Takes no lock and writes nothing. */
import { missingLog } from '../dispatch/read-state.js'
import { SubstratError } from '../errors.js'
import type { UsageRow, UsedView } from '../schema/output-overview.js'
import type { SessionUsage, Usage } from '../schema/types.js'
import { addTotals, addUsage, countRun, NO_RUNS, withRun } from '../session/fold/usage.js'
import { peekState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import { usageInLog } from '../session/usage-log.js'
import type { Store } from '../storage/store.js'
import { branchOf, lowestFirst, oldestFirst } from '../tree/forest.js'

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
  const all: Sums = { total: NO_RUNS, rows: new Map() }
  for (const { sums } of counted.sort(oldestFirst)) addTo(all, sums)
  return { by, since, total: all.total, rows: rowsInOrder(all, by), damaged }
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

/** The usage of one agent, or the sum of several. */
interface Sums {
  total: SessionUsage
  /** By what the rows are grouped by. */
  rows: Map<string, UsageRow>
}

/** An agent whose log cannot be read counts nowhere, not even with the part before the damage. */
function sumsOf(store: Store, state: State, request: UsageRequest): Sums {
  const { id, path, usage } = state
  // The snapshot has the total of its agent, and nothing else.
  if (request.by !== 'agent' || request.since !== null || usage === null)
    return sumsOfLog(store, state, request)
  return { total: usage, rows: new Map([[id, { agent_id: id, path, ...usage }]]) }
}

/** A run counts in each row that it used, once, and by its start in the row of its agent or its day. */
function sumsOfLog(store: Store, { id, path, imported }: State, { by, since }: UsageRequest): Sums {
  const whole = new Sum({})
  const parts = new Map<string, Sum>()
  const sumFor = (key: string, names: Names): Sum => {
    const sum = parts.get(key) ?? new Sum(names)
    parts.set(key, sum)
    return sum
  }
  if (by === 'agent') sumFor(id, { agent_id: id, path })
  for (const { ts, run_id, usage, models } of usageInLog(store, id, imported)) {
    if (since !== null && ts < since) continue
    whole.add(run_id, usage)
    const day = ts.slice(0, 10)
    if (by === 'agent') sumFor(id, { agent_id: id, path }).add(run_id, usage)
    else if (by === 'day') sumFor(day, { day }).add(run_id, usage)
    else if (usage !== null && models.length === 0) sumFor('', { model: null }).add(run_id, usage)
    else for (const { model, ...part } of models) sumFor(`=${model}`, { model }).add(run_id, part)
  }
  return { total: whole.row, rows: new Map([...parts].map(([key, { row }]) => [key, row])) }
}

type Names = Pick<UsageRow, 'agent_id' | 'path' | 'model' | 'day'>

/** A row of one log, whose runs follow each other. */
class Sum {
  private usage: SessionUsage = NO_RUNS
  /** The latest run in this row, and its usage in it. */
  private run_id = ''
  private ofRun: Usage | null = null

  constructor(private readonly names: Names) {}

  get row(): UsageRow {
    return { ...this.names, ...this.usage }
  }

  add(run_id: string, usage: Usage | null): void {
    if (this.run_id !== run_id) {
      this.run_id = run_id
      this.ofRun = null
      this.usage = countRun(this.usage)
    }
    if (usage === null) return
    const after = addUsage(this.ofRun, usage)
    this.usage = withRun(this.usage, this.ofRun, after, usage)
    this.ofRun = after
  }
}

function addTo(sums: Sums, { total, rows }: Sums): void {
  sums.total = addTotals(sums.total, total)
  for (const [key, row] of rows) {
    const earlier = sums.rows.get(key)
    sums.rows.set(key, earlier === undefined ? row : { ...row, ...addTotals(earlier, row) })
  }
}
