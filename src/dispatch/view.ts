/** The JSON output for an agent and a run. These shapes are published in docs/commands.md. */
import { countPending, hasOnlyLaterMail, type MailIndex, type SentMessage } from '../mail/inbox.js'
import { nextDueTime } from '../schedule/due.js'
import type { AgentView, RunView, TurnResult, WaitView } from '../schema/output.js'
import type { Ask } from '../schema/types.js'
import { stoppedHolder } from '../session/busy.js'
import type { PastRun } from '../session/past-run.js'
import { readRecord, readRecordText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import { shownStatus } from '../session/shown-status.js'
import type { AgentSummary } from '../session/snapshot-layout.js'
import type { Location, Run, State, Wait } from '../session/state.js'
import { openWait } from '../session/status.js'
import { statusNow } from '../session/status-now.js'
import type { Store } from '../storage/store.js'
import { ownBudget } from './view-budget.js'

/** `hasMail` saves reading the inbox; for commands that show many agents. */
export function viewAgent(
  store: Store,
  state: AgentSummary,
  hasMail?: MailIndex,
  { mailIds, isHeld, sent }: Partial<AgentAccess> = {},
): AgentView {
  const status = statusNow(store, state, isHeld)
  const hasNone = state.state === 'terminated' || hasMail?.(state.id) === false
  const ids = hasNone ? [] : (mailIds ?? store.mail.ids(state.id))
  return {
    id: state.id,
    name: state.name,
    path: state.path,
    title: state.title,
    parent: state.parent,
    provider: state.provider_name,
    model: state.model,
    state: state.state,
    status,
    shown_status: shownStatus(status, state, () => hasOnlyLaterMail(store, state, ids, sent)),
    workspace: state.workspace,
    created_at: state.created_at,
    updated_at: state.updated_at,
    last_seq: state.last_seq,
    inbox: countPending(store, state, ids),
    ...(state.allow.length === 0 ? {} : { allow: state.allow }),
    ...(state.refused === undefined ? {} : { refused: state.refused }),
    ...nextSlotOf(state),
    ...(state.budget?.caps === undefined ? {} : { budget: ownBudget(store, state) }),
    ...(state.moved === undefined ? {} : { moved_to: state.moved.to }),
    ...(status === 'running' && stoppedHolder(store, state.id) !== undefined && { stopped: true }),
  }
}

function nextSlotOf({ schedules = [] }: AgentSummary): Pick<AgentView, 'next_slot'> {
  const [next] = schedules.flatMap((schedule) => nextDueTime(schedule) ?? []).sort()
  return next === undefined ? {} : { next_slot: next }
}

export function viewRun(run: Run | PastRun): RunView {
  const { run_id, status, started_at, ended_at, usage } = run
  return { id: run_id, status, started_at, ended_at, usage, ...(run.fresh === true ? { fresh: true } : {}) }
}

/** The result of a command on one agent, with or without a visit. */
export function viewTurn(
  store: Store,
  state: State,
  run: Run | PastRun | null,
  reply: string | null,
  log: AgentAccess = logOf(store, state.id),
): TurnResult {
  return {
    agent: viewAgent(store, state, undefined, log),
    run: run === null ? null : viewRun(run),
    reply,
    wait: viewWait(state, run, log),
  }
}

/** An open agent, as far as the caller knows it. A session reads from its open log, which works even if the home was moved meanwhile. */
export interface AgentAccess {
  recordAt(at: Location): SessionRecord | undefined
  /** Undefined if the inbox must be read. */
  readonly mailIds?: string[]
  /** A message of `mailIds` that the command stores later. */
  readonly sent?: SentMessage
  /** Undefined if the lock must be probed. */
  readonly isHeld?: boolean
}

/** An agent that this process has just created, and holds. No file need be read for it. */
export const CREATED: AgentAccess = { recordAt: () => undefined, mailIds: [], isHeld: true }

function logOf(store: Store, agentId: string): AgentAccess {
  return { recordAt: (at) => readRecord(store, agentId, at) }
}

/**
 * The result of a command that stores this message in the agent's inbox. Call it before the message is stored: once it is, nothing
 * that the command reads for its output may make it fail.
 */
export function viewReceiver(
  store: Store,
  state: State,
  sent: SentMessage,
  mailIds = store.mail.ids(state.id),
): TurnResult {
  const { message_id } = sent
  const ids = mailIds.includes(message_id) ? mailIds : [...mailIds, message_id]
  return viewTurn(store, state, null, null, { ...logOf(store, state.id), mailIds: ids, sent })
}

/** The calls and questions of the parked run. Undefined if its record does not say it. */
export function asksOf(log: Pick<AgentAccess, 'recordAt'>, wait: Wait): Ask[] | undefined {
  const record = log.recordAt(wait.at)
  return record?.kind === 'run.waiting' ? record.asks : undefined
}

/** Null if the run is not parked. */
function viewWait(state: State, run: Run | PastRun | null, log: AgentAccess): WaitView | null {
  const wait = run?.run_id === state.run?.run_id ? openWait(state) : null
  if (wait === null) return null
  const asks = asksOf(log, wait) ?? []
  const { kind, resume_token_id, deadline_at, not_before, why } = wait
  return {
    kind,
    token: null,
    token_id: resume_token_id,
    deadline_at,
    not_before,
    ...(why === undefined ? {} : { why }),
    asks: asks.map(({ call_id, tool, input }) => ({
      ...(kind === 'tool_result' ? { call_id } : {}),
      tool,
      input,
    })),
  }
}

/** The result of a run that has ended, with its reply. */
export function viewEndedRun(
  store: Store,
  state: State,
  run: Run,
  log: AgentAccess = logOf(store, state.id),
): TurnResult {
  const record = run.reply === null || run.status !== 'completed' ? null : log.recordAt(run.reply)
  const reply = record == null ? null : readRecordText(store, state.id, record)
  return { ...viewTurn(store, state, run, reply, log), ...incompleteOf(record) }
}

/** Whether the reply of this record or run may be incomplete, as a field of the result. */
export function incompleteOf(said: SessionRecord | PastRun | null | undefined): { incomplete?: string } {
  if (said == null || !('incomplete' in said) || said.incomplete === undefined) return {}
  return { incomplete: said.incomplete }
}
