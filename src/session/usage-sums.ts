/** Sums of tokens and costs: of an agent's log, or of the file that a removed agent has left. */
import { SubstratError } from '../errors.js'
import type { RemovedAgent } from '../format.js'
import type { UsageRow, UsedView } from '../schema/output-overview.js'
import type { SessionUsage, Usage } from '../schema/types.js'
import type { Store } from '../storage/store.js'
import { addTotals, addUsage, countRun, NO_RUNS, withRun } from './fold/usage.js'
import type { State } from './state.js'
import { type LoggedUsage, usageInLog } from './usage-log.js'

export interface Grouping {
  /** ISO 8601; null for everything. */
  since: string | null
  by: UsedView['by']
}

/** The usage of one agent, or the sum of several. */
export interface Sums {
  total: SessionUsage
  /** By what the rows are grouped by. */
  rows: Map<string, UsageRow>
}

type Names = Pick<UsageRow, 'agent_id' | 'path' | 'removed_at' | 'model' | 'day' | 'schedule'>

/** Sums of one log by key. */
class Parts<K extends Names> {
  private readonly sums = new Map<string, { names: K; sum: Sum }>()

  sum(key: string, names: K): Sum {
    const known = this.sums.get(key) ?? { names, sum: new Sum() }
    this.sums.set(key, known)
    return known.sum
  }

  rows(): Map<string, K & SessionUsage> {
    return new Map([...this.sums].map(([key, { names, sum }]) => [key, { ...names, ...sum.usage }]))
  }
}

/** The sum of one row of one log, whose runs follow each other. */
class Sum {
  usage: SessionUsage = NO_RUNS
  /** The latest run in this row, and its usage in it. */
  private run_id = ''
  private ofRun: Usage | null = null

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

const modelKey = (model: string | null): string => (model === null ? '' : `=${model}`)

/** A run counts in each row that it used, once, and by its start in the row of its agent or its day. */
export function sumsOfLog(store: Store, { id, path, imported }: State, { by, since }: Grouping): Sums {
  const whole = new Sum()
  const parts = new Parts()
  if (by === 'agent') parts.sum(id, { agent_id: id, path })
  for (const entry of usageInLog(store, id, imported)) {
    const { ts, run_id, usage } = entry
    if (since !== null && ts < since) continue
    whole.add(run_id, usage)
    const day = ts.slice(0, 10)
    if (by === 'agent') parts.sum(id, { agent_id: id, path }).add(run_id, usage)
    else if (by === 'day') parts.sum(day, { day }).add(run_id, usage)
    else if (by === 'schedule') parts.sum(...scheduleRow(id, path, entry)).add(run_id, usage)
    else for (const { model, used } of byModel(entry)) parts.sum(modelKey(model), { model }).add(run_id, used)
  }
  return { total: whole.usage, rows: parts.rows() }
}

/** All turns without a schedule are one row. One that was replaced is in the row of its name. */
function scheduleRow(agent_id: string, path: string, { schedule }: LoggedUsage): [key: string, names: Names] {
  if (schedule === undefined) return ['', { schedule: null }]
  const { name } = schedule
  return [`${agent_id} ${name}`, { agent_id, path, schedule: name }]
}

/** A run without any usage counts in the row of the model that it was to use, so that every run is in a row. */
function byModel({ usage, models, begunWith = null, isUnused }: LoggedUsage): {
  model: string | null
  used: Usage | null
}[] {
  if (isUnused === true) return [{ model: begunWith, used: null }]
  if (usage === null || models.length > 0) return models.map(({ model, ...used }) => ({ model, used }))
  return [{ model: null, used: usage }]
}

/** The facts that stay of an agent that is removed now. */
export function removedAgentOf(store: Store, state: State, removed_at: string): RemovedAgent {
  const { id, path, parent, created_at, budget } = state
  return {
    agent_id: id,
    path,
    parent_id: parent,
    created_at,
    removed_at,
    ...(budget === undefined ? {} : { budget }),
    usage: tallyOf(store, state),
  }
}

function tallyOf(store: Store, { id, imported, usage: known, updated_at }: State): RemovedAgent['usage'] {
  const whole = new Sum()
  const [models, days] = [new Parts<{ model: string | null }>(), new Parts<{ day: string }>()]
  const daily = new Map<string, Parts<{ model: string | null }>>()
  try {
    for (const entry of usageInLog(store, id, imported)) {
      const { ts, run_id, usage } = entry
      const day = ts.slice(0, 10)
      whole.add(run_id, usage)
      days.sum(day, { day }).add(run_id, usage)
      const ofDay = daily.get(day) ?? new Parts()
      daily.set(day, ofDay)
      for (const { model, used: part } of byModel(entry))
        for (const each of [models, ofDay]) each.sum(modelKey(model), { model }).add(run_id, part)
    }
  } catch (error) {
    if (!(error instanceof SubstratError) || error.code !== 'CORRUPT') throw error
    return undividedTally(known ?? NO_RUNS, updated_at.slice(0, 10))
  }
  const modelsOf = (day: string) => [...(daily.get(day)?.rows().values() ?? [])]
  return {
    total: whole.usage,
    models: [...models.rows().values()],
    days: [...days.rows().values()].map((row) => ({ ...row, models: modelsOf(row.day) })),
  }
}

/** If the middle of a log is damaged, only the total of its snapshot is known. */
function undividedTally(total: SessionUsage, day: string): RemovedAgent['usage'] {
  const models = [{ model: null, ...total }]
  return { total, models, days: [{ day, ...total, models }] }
}

/** With `since`, whole days count, from that of `since` on. */
export function sumsOfRemoved(removed: RemovedAgent, { by, since }: Grouping): Sums {
  const { agent_id, path, removed_at, usage } = removed
  const days = usage.days.filter(({ day }) => since === null || day >= since.slice(0, 10))
  const total = since === null ? usage.total : days.reduce<SessionUsage>(addTotals, NO_RUNS)
  if (by === 'agent') return { total, rows: new Map([[agent_id, { agent_id, path, removed_at, ...total }]]) }
  if (by === 'day') return { total, rows: new Map(days.map(({ models: _, ...row }) => [row.day, row])) }
  if (by === 'schedule') return { total, rows: new Map([['', { schedule: null, ...total }]]) }
  const sums: Sums = { total, rows: new Map() }
  for (const row of since === null ? usage.models : days.flatMap(({ models }) => models))
    addRow(sums, modelKey(row.model), row)
  return sums
}

export function addTo(sums: Sums, { total, rows }: Sums): void {
  sums.total = addTotals(sums.total, total)
  for (const [key, row] of rows) addRow(sums, key, row)
}

function addRow({ rows }: Sums, key: string, row: UsageRow): void {
  const earlier = rows.get(key)
  rows.set(key, earlier === undefined ? row : { ...row, ...addTotals(earlier, row) })
}
