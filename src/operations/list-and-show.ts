/** `list` and `show`: take no locks and write nothing. */

import { wordOf } from '../dispatch/outcome.js'
import { missingLog, readState } from '../dispatch/read-state.js'
import { turnObstacle } from '../dispatch/turn-obstacle.js'
import { viewAgent, viewTurn } from '../dispatch/view.js'
import { SubstratError } from '../errors.js'
import { countPending, type MailIndex, mailIndexOf } from '../mail/inbox.js'
import type { Holder } from '../schema/files.js'
import type { ListedAgent, ShownAgent } from '../schema/output.js'
import { STATUSES } from '../schema/words.js'
import { peekSummary } from '../session/peek-summary.js'
import { readMessageText, readText } from '../session/read.js'
import type { State } from '../session/state.js'
import { isUnfinished } from '../session/status.js'
import { statusNow } from '../session/status-now.js'
import { troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'

export interface ListFilter {
  status?: string | undefined
  state?: string | undefined
  roots: boolean
  /** Include terminated agents. */
  all: boolean
}

export const LISTED_STATUSES = [...STATUSES, 'corrupt'] as const

/** Oldest first. */
export function listAgents(store: Store | undefined, filter: ListFilter): ListedAgent[] {
  if (store === undefined) return []
  const ids = store.agentIds()
  const hasMail = mailIndexOf(store)
  const agents = ids.map((id) => listedAgent(store, id, hasMail))
  return agents.filter((agent) => matches(agent, filter)).sort(byCreation)
}

/** The path of each agent, with its status, for shell completion. */
export function agentWords(store: Store | undefined): { word: string; description: string }[] {
  return listAgents(store, { roots: false, all: true }).map((agent) => ({
    word: 'path' in agent ? agent.path : agent.id,
    description: 'state' in agent && agent.state === 'terminated' ? 'terminated' : agent.status,
  }))
}

export function showAgent(store: Store, agentId: string): ShownAgent {
  const state = readState(store, agentId)
  const holder = store.isHeld(agentId) ? (store.holder(agentId) ?? null) : null
  const reply = state.reply === null ? null : readMessageText(store, agentId, state.reply)
  return {
    ...viewTurn(store, state, state.run, reply),
    format: state.format,
    title: state.title,
    instructions: state.instructions === null ? null : readText(store, agentId, state.instructions),
    options: state.options,
    hold: state.hold,
    gate: { gated: state.gate.isGated, permits: state.gate.permits },
    metadata: state.metadata,
    reminders: state.reminders.map(({ reminder_id, due_at, every_ms, content }) => ({
      reminder_id,
      due_at,
      every_ms,
      content: readText(store, agentId, content),
    })),
    watchers: state.watchers.map(({ from, on, once }) => ({ from, on, once })),
    last_boot_seen: state.recovery.last_boot_seen,
    host: hostOf(state),
    usage: state.usage,
    holder,
    trouble: whyUnfinished(store, state),
    next: nextCommand(store, state, holder),
  }
}

function hostOf({ run }: State): ShownAgent['host'] {
  if (run?.host_id === undefined) return null
  return { host_id: run.host_id, host_name: run.host_name ?? null }
}

/** The log of an open run does not yet record that its holder died. */
function whyUnfinished(store: Store, state: State): string | null {
  if (state.run === null) return null
  const isLeft = state.run.status === 'open' && statusNow(store, state) === 'interrupted_startup'
  return isLeft ? 'its process died' : troubleOf(state.run)
}

function nextCommand(store: Store, state: State, holder: Holder | null): string | null {
  const name = wordOf(state)
  const status = statusNow(store, state)
  if (status === 'running') return `substrat log ${name} --follow`
  const obstacle = turnObstacle(state, status === 'waiting' ? 'mail' : 'message')
  if (obstacle !== undefined) return obstacle.next
  const isPending = holder === null && countPending(store, state) > 0
  return isUnfinished(state) || isPending ? `substrat resume ${name}` : `substrat send ${name} '…'`
}

function listedAgent(store: Store, id: string, hasMail: MailIndex): ListedAgent {
  try {
    const state = peekSummary(store, id, hasMail(id))
    if (state === undefined) throw missingLog(store, id)
    return viewAgent(store, state, hasMail)
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return { id, status: 'corrupt', error: { code: error.code, message: error.message } }
  }
}

function matches(agent: ListedAgent, { status, state, roots, all }: ListFilter): boolean {
  if (status !== undefined && agent.status !== status) return false
  if (!('state' in agent)) return state === undefined
  if (state !== undefined) return agent.state === state && (!roots || agent.parent === null)
  return (all || agent.state !== 'terminated') && (!roots || agent.parent === null)
}

function byCreation(a: ListedAgent, b: ListedAgent): number {
  const [x, y] = [createdAt(a), createdAt(b)]
  return x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1
}

function createdAt(agent: ListedAgent): string {
  return 'created_at' in agent ? agent.created_at : ''
}
