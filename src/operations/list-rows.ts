/** `list` at a terminal: one status for each agent, and its latest message. */

import { listWaiting } from '../mail/inbox.js'
import type { AgentView, ShownAgent } from '../schema/output.js'
import type { ListedAgent } from '../schema/output-overview.js'
import type { ShownStatus } from '../schema/words.js'
import { openForRead } from '../session/load.js'
import type { AgentSummary } from '../session/snapshot-layout.js'
import type { Store } from '../storage/store.js'
import { agentReader, type ListFilter, listAgents, showAgent } from './list-and-show.js'

export interface ListRow {
  agent: ListedAgent
  status: ShownStatus
}

/** Oldest first. */
export function listRows(store: Store | undefined, { status, ...filter }: ListFilter): ListRow[] {
  const statuses = new ShownStatuses(store)
  const rows = listAgents(store, filter, statuses.onSummary).map((agent) => statuses.rowOf(agent))
  return rows.filter((row) => isMeant(row, status))
}

/** Reads rows one by one, as `listRows` has them. For a short time, like `agentReader`. */
export function rowReader(store: Store): (agentId: string) => ListRow {
  const statuses = new ShownStatuses(store)
  const read = agentReader(store, statuses.onSummary)
  return (agentId) => statuses.rowOf(read(agentId))
}

/** The words of a list for agents, by their ids. */
export class ShownStatuses {
  private readonly statuses = new Map<string, ShownStatus>()

  constructor(private readonly store: Store | undefined) {}

  readonly onSummary = ({ id, status, inbox }: AgentView, summary: AgentSummary): void => {
    const shown = shownStatus(status, summary)
    const isScheduled = shown === 'idle' && inbox > 0 && hasOnlyLaterMail(this.store as Store, id)
    this.statuses.set(id, isScheduled ? 'scheduled' : shown)
  }

  rowOf(agent: ListedAgent): ListRow {
    return { agent, status: this.of(agent.id) }
  }

  of(agentId: string): ShownStatus {
    return this.statuses.get(agentId) ?? 'corrupt'
  }
}

export function newestFirst(rows: ListRow[]): ListRow[] {
  return rows.toSorted(byChange)
}

/** An obstacle to the next turn comes before the end of the latest one. */
function shownStatus(status: string, summary: AgentSummary): ShownStatus {
  const { run, ended, hold, gate, reminders, state } = summary
  if (state === 'terminated') return 'terminated'
  if (status === 'running') return 'running'
  if (status === 'waiting') return run?.wait?.kind === 'not_before' ? 'scheduled' : 'waiting'
  if (status !== 'idle') return 'interrupted'
  if (hold) return 'held'
  if (gate.isGated) return 'gated'
  if ((run?.status ?? ended) === 'failed') return 'failed'
  return reminders.length > 0 ? 'scheduled' : 'idle'
}

function hasOnlyLaterMail(store: Store, agentId: string): boolean {
  const state = openForRead(store, agentId)?.state
  const now = new Date().toISOString()
  return state !== undefined && listWaiting(store, state).every(({ not_before }) => (not_before ?? '') > now)
}

/** `interrupted_startup` and `interrupted_waiting` are the words of `--json`. */
function isMeant({ agent, status }: ListRow, wanted: string | undefined): boolean {
  return wanted === undefined || wanted === status || (wanted.includes('_') && wanted === agent.status)
}

function byChange(a: ListRow, b: ListRow): number {
  const [x, y] = [changedAt(a.agent), changedAt(b.agent)]
  return x > y ? -1 : x < y ? 1 : a.agent.id < b.agent.id ? -1 : 1
}

function changedAt(agent: ListedAgent): string {
  return 'updated_at' in agent ? agent.updated_at : ''
}

const NEEDS: ShownStatus[] = ['waiting', 'interrupted', 'failed', 'corrupt']

/** Whether the agent goes on only after a person did something. */
export function needsPerson({ status }: Pick<ListRow, 'status'>): boolean {
  return NEEDS.includes(status)
}

/** The agent whose latest message a row quotes; undefined if it cannot be read or was removed meanwhile. */
export function shownOf(store: Store, { agent }: ListRow): ShownAgent | undefined {
  if (!('state' in agent)) return undefined
  try {
    return showAgent(store, agent.id)
  } catch {
    return undefined
  }
}
