/** `list` and `show`: take no locks and write nothing. */

import { clock, withUtcTimes } from '../clock.js'
import { previewOf, topicOf } from '../dispatch/about.js'
import { latestActs } from '../dispatch/acts.js'
import { wordOf } from '../dispatch/outcome.js'
import { lastKnownPath, missingLog } from '../dispatch/read-state.js'
import { viewSchedules } from '../dispatch/schedule-view.js'
import { tickerTrouble } from '../dispatch/ticker.js'
import { decisionCommands, turnObstacle } from '../dispatch/turn-obstacle.js'
import { turnPrompt } from '../dispatch/turn-prompt.js'
import { incompleteOf, viewAgent, viewTurn } from '../dispatch/view.js'
import { budgetsOver } from '../dispatch/view-budget.js'
import { SubstratError, shellWord } from '../errors.js'
import { hasDueMail, type MailIndex, mailIndexOf, nextDueAt } from '../mail/inbox.js'
import type { AgentView, Grant, ShownAgent } from '../schema/output.js'
import type { ListedAgent } from '../schema/output-overview.js'
import { WHY_STOPPED } from '../schema/reasons.js'
import { needsPerson, SHOWN_STATUSES, STATUSES, statusOfWord, wordOfStatus } from '../schema/words.js'
import { stoppedHolder } from '../session/busy.js'
import {
  decideUnknown,
  type NextStep,
  stepAfterTurn,
  stepAtLimit,
  stepWhenScheduled,
  stepWhenTooLong,
} from '../session/causes.js'
import { recordAt, recordsFrom, withAgent } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import { peekSummary } from '../session/peek-summary.js'
import { readRecordText, readText } from '../session/read.js'
import type { RecordKind, SessionRecord } from '../session/records.js'
import { runningTools } from '../session/running-tools.js'
import type { Location, Refusal, Run, State, Wait } from '../session/state.js'
import { isCompactedSince, isUnfinished, type Status } from '../session/status.js'
import { statusNow } from '../session/status-now.js'
import { troubleOf } from '../session/trouble.js'
import type { OpenedAgent, Store } from '../storage/store.js'
import { wasAnsweredBefore } from '../turn/prompt/answered-before.js'

export interface ListFilter {
  /** One of `LISTED_STATUSES`. */
  status?: string | undefined
  state?: string | undefined
  roots: boolean
  /** Include terminated agents. */
  all: boolean
  /** Only agents that changed since this time. */
  since?: string | undefined
}

/** The words for people, the derived statuses that people have no word for, and `needs_you` for the agents that need a person. */
export const LISTED_STATUSES = [
  ...SHOWN_STATUSES,
  ...STATUSES.filter((status) => !SHOWN_STATUSES.some((word) => word === status)),
  'needs_you',
] as const

/** The status that a person means. The word as it is if there is none. */
export function listedStatus(word: string): string {
  const status = statusOfWord(word)
  return LISTED_STATUSES.some((each) => each === status) ? status : word
}

/** Oldest first. */
export function listAgents(store: Store | undefined, filter: ListFilter): ListedAgent[] {
  if (store === undefined) return []
  const ids = store.agentIds()
  const hasMail = mailIndexOf(store)
  store.readAhead(ids)
  try {
    const agents = ids.map((id) => listedAgent(store, id, hasMail))
    return agents.filter((agent) => matches(agent, filter)).sort(byCreation)
  } finally {
    store.readAhead([])
  }
}

/** Why the slots of these agents are late. Undefined if they are not. */
export function tickerNote(store: Store | undefined, agents: ListedAgent[]): string | undefined {
  const scheduled = agents.filter((agent) => 'next_slot' in agent)
  if (store === undefined || scheduled.length === 0) return undefined
  const late = tickerTrouble(
    store,
    scheduled.flatMap(({ id }) => readableState(store, id) ?? []),
  )
  return late === undefined ? undefined : withUtcTimes(`${late.detail}; ${late.next}`)
}

/** Reads agents one by one, as `listAgents` has them. For a short time: pending mail of other agents is looked up once. */
export function agentReader(store: Store): (agentId: string) => ListedAgent {
  const hasMail = mailIndexOf(store)
  return (agentId) => listedAgent(store, agentId, hasMail)
}

/** The path of each agent, with its status, for shell completion. */
export function agentWords(store: Store | undefined): { word: string; description: string }[] {
  return listAgents(store, { roots: false, all: true }).map((agent) => ({
    word: agent.path ?? agent.id,
    description: wordOfStatus(agent.shown_status),
  }))
}

/** `ofSetting`: the tools that every agent may use without approval. */
export function showAgent(store: Store, agentId: string, ofSetting: Grant[] = []): ShownAgent {
  const shown = withAgent(store, agentId, ({ state }, opened) => viewOpened(store, state, opened, ofSetting))
  if (shown === undefined) throw missingLog(store, agentId)
  return shown
}

function viewOpened(store: Store, state: State, opened: OpenedAgent, ofSetting: Grant[]): ShownAgent {
  const { id: agentId } = state
  const { isHeld, mailIds } = opened
  const access = { recordAt: (at: Location) => recordAt(opened.log, at), isHeld, mailIds }
  const holder = isHeld ? (opened.holder ?? store.holder(agentId) ?? null) : null
  const said = state.reply === null ? undefined : access.recordAt(state.reply)
  const reply = said === undefined ? null : readRecordText(store, agentId, said)
  const status = statusNow(store, state, isHeld)
  const over = budgetsOver(store, state)
  const stopped = holder === null ? undefined : stoppedHolder(store, agentId, holder)
  const about = {
    ...viewTurn(store, state, state.run, reply, access),
    reply_is: said === undefined ? null : replyIs(said, state.run),
    hold: state.hold,
    gate: { gated: state.gate.isGated, permits: state.gate.permits },
    doing: status === 'running' && state.run !== null ? runningTools(opened.log, state.run) : [],
    trouble:
      stopped === undefined
        ? (whyUnfinished(store, state, status) ?? whyLimited(state.run, access.recordAt))
        : withUtcTimes(`its process, pid ${stopped.holder.pid}, ${stopped.what}`),
  }
  const step = stopped
    ? { command: `kill -CONT ${stopped.holder.pid}`, sentence: stopped.advice }
    : stepNow(store, state, about.agent, holder === null && hasDueMail(store, state, mailIds), opened)
  return {
    ...about,
    ...incompleteOf(said),
    preview: previewOf(about),
    prompt: turnPrompt(store, state, opened, access.recordAt),
    acts: latestActs(opened.log),
    format: state.format,
    title: state.title,
    topic: topicOf(state.title, state.title === null ? firstMessage(store, agentId, opened) : undefined),
    instructions: state.instructions === null ? null : readText(store, agentId, state.instructions),
    options: state.options,
    ...(over.length === 0 ? {} : { budgets: over }),
    ...(state.budget?.unanswered === undefined ? {} : { unanswered: state.budget.unanswered }),
    grants: [...state.allow.map((entry) => grantOf(state, entry)), ...ofSetting],
    ...(state.on_unknown === undefined ? {} : { on_unknown: state.on_unknown }),
    context: state.context ?? 'all',
    metadata: state.metadata,
    reminders: state.reminders.map(({ reminder_id, due_at, every_ms, content }) => ({
      reminder_id,
      due_at,
      every_ms,
      content: readText(store, agentId, content),
    })),
    ...(state.schedules === undefined ? {} : { schedules: viewSchedules(store, state) }),
    watchers: state.watchers.map(({ from, on, once }) => ({ from, on, once })),
    last_boot_seen: state.recovery.last_boot_seen,
    host: hostOf(state),
    usage: state.usage,
    holder,
    ...(state.workspace_host === undefined ? {} : { workspace_host: state.workspace_host }),
    next: step?.command ?? null,
    ...(step?.sentence === undefined ? {} : { advice: withUtcTimes(step.sentence) }),
  }
}

/** An agent whose first turn has other records before its prompt than this needs no topic. */
const FIRST_RECORDS_MAX = 20

/** Undefined also for a log whose beginning is damaged: `show` needs only its end, and `doctor` reports the damage. */
function firstMessage(store: Store, agentId: string, { log }: OpenedAgent): string | undefined {
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      const isPrompt = record.kind === 'message.user' || record.kind === 'mail.delivered'
      if (isPrompt) return readRecordText(store, agentId, record)
      if (record.seq >= FIRST_RECORDS_MAX) return undefined
    }
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
  }
  return undefined
}

/** The log names no source of an entry that an agent has from its creation. */
function grantOf({ grants = [], created_at }: State, entry: string): Grant {
  return grants.find((grant) => grant.entry === entry) ?? { entry, by: 'spawn', since: created_at }
}

function replyIs(said: SessionRecord, run: Run | null): ShownAgent['reply_is'] {
  if (run === null || !('run_id' in said)) return 'final'
  if (said.run_id !== run.run_id) return 'previous'
  return run.status === 'completed' ? 'final' : 'so_far'
}

function hostOf({ run }: State): ShownAgent['host'] {
  if (run?.host_id === undefined) return null
  return { host_id: run.host_id, host_name: run.host_name ?? null }
}

/** The log of an open run does not yet record that its holder died. */
function whyUnfinished(store: Store, state: State, status: Status): string | null {
  if (state.run === null) return null
  const isLeft = state.run.status === 'open' && status === 'interrupted_startup'
  if (!isLeft) return troubleOf(state.run)
  const free = store.local.freeBytes(state.id)
  return free === undefined || free >= FULL_BYTES_MAX ? WHY_STOPPED.process_exit : DISK_FULL
}

/** The reason that the provider gave for its rate limit. */
function whyLimited(run: Run | null, at: (at: Location) => SessionRecord): string | null {
  if (run?.wait?.kind === 'budget') return run.wait.why ?? 'its budget is used up'
  if (run?.wait?.kind !== 'not_before') return null
  const record = at(run.wait.at)
  return (record.kind === 'run.waiting' ? record.why : undefined) ?? 'its provider limits it'
}

/** A process that finds the disk full ends without a record of it, because a record takes space too. */
const DISK_FULL = 'its process ended, and the disk of the home is full: free some space first'
/** One batch of a log, with its files, may need this much. */
const FULL_BYTES_MAX = 1024 * 1024

/** A step that needs no words beside its command has no sentence. */
type StepNow = Omit<NextStep, 'sentence'> & Partial<NextStep>

function stepNow(
  store: Store,
  state: State,
  { status, shown_status }: AgentView,
  hasMail: boolean,
  { log }: OpenedAgent,
): StepNow | undefined {
  const name = wordOf(state)
  if (status === 'running') return { command: `substrat log ${name} --follow` }
  const obstacle = turnObstacle(store, state, status === 'waiting' ? 'mail' : 'message')
  if (obstacle?.kind === 'wait' && obstacle.wait.kind === 'not_before') {
    const until = obstacle.wait.not_before ?? ''
    return stepAtLimit(state.path, until, Date.parse(until) <= clock.now())
  }
  if (obstacle?.kind === 'wait' && obstacle.wait.kind === 'budget') return stepAtBudget(state, obstacle.wait)
  if (obstacle?.kind === 'unknown') return { command: obstacle.next, sentence: decideUnknown(state.path) }
  if (obstacle !== undefined) return obstacle.next === null ? undefined : { command: obstacle.next }
  const { refused = [] } = state
  if (refused.some(({ past }) => past !== true)) return { command: nextAfterRefusal(state, refused) }
  if (isRefused(state, log) && !isCompactedSince(state)) return stepWhenTooLong(state.path)
  const ended = state.run === null ? undefined : stepAfterTurn(state.run, state.path, true)
  if (ended !== undefined) return ended
  if (isUnfinished(state) || hasMail) return { command: `substrat resume ${name}` }
  const at = shown_status === 'scheduled' ? nextDueAt(store, state) : null
  return at === null ? { command: repetitionOf(state, refused) } : stepWhenScheduled(state.path, at)
}

function stepAtBudget(state: State, wait: Wait): StepNow {
  const decide = decisionCommands(wordOf(state), wait)
  const command = obstacleCommand(decide)
  if (wait.not_before === null) return { command, sentence: `raise its budget: ${decide}` }
  const isOver = Date.parse(wait.not_before) <= clock.now()
  const step = stepAtLimit(state.path, wait.not_before, isOver)
  return { command: step.command, sentence: `${step.sentence}; or now: ${decide}` }
}

/** The first of the commands. */
function obstacleCommand(commands: string): string {
  return commands.split(';')[0] ?? commands
}

/** A hold and a gate come before it while they are there. Once they are gone, the message must be sent again. */
function nextAfterRefusal(state: State, refused: Refusal[]): string {
  const isOfProvider = refused.some(
    ({ cause, past }) =>
      past !== true && !['hold', 'gate', 'program', 'unknown_tool', 'waiting'].includes(cause),
  )
  return isOfProvider ? `substrat check ${wordOf(state)}` : repetitionOf(state, refused)
}

/** The command that sends the oldest refused message again. */
export function repetitionOf(state: State, refused: Refusal[]): string {
  const key = refused.find((refusal) => refusal.key !== null)?.key ?? null
  return `substrat send ${wordOf(state)}${key === null ? '' : ` --key ${shellWord(key)}`} '…'`
}

/** Whether the latest turn failed because the service refused its conversation, which had an answer before. A wrong setting can be `invalid` too. */
function isRefused(state: State, log: OpenedAgent['log']): boolean {
  const { run, reply, seed } = state
  if (run?.status !== 'failed' || run.hasLaunched) return false
  if (run.error?.type === 'overflow') return reply !== null || seed !== null || run.steps > 0
  if (run.error?.type !== 'invalid') return false
  return isCompactedSince(state) || wasAnsweredBefore({ state, recordsOfKinds })

  function* recordsOfKinds<K extends RecordKind>(
    from: Pick<Location, 'seq' | 'offset'>,
    kinds: readonly K[],
  ): Generator<SessionRecord<K>> {
    for (const { record } of recordsFrom(log, from))
      if (kinds.some((kind) => kind === record.kind)) yield record as SessionRecord<K>
  }
}

function listedAgent(store: Store, id: string, hasMail: MailIndex): ListedAgent {
  try {
    const state = peekSummary(store, id, hasMail(id))
    if (state === undefined) throw missingLog(store, id)
    return viewAgent(store, state, hasMail)
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return {
      id,
      status: 'corrupt',
      shown_status: 'corrupt',
      path: lastKnownPath(store, id),
      error: { code: error.code, message: error.message },
    }
  }
}

function matches(agent: ListedAgent, { status, state, roots, all, since }: ListFilter): boolean {
  if (status !== undefined && !hasStatus(agent, status)) return false
  if (!('state' in agent)) return state === undefined
  if (since !== undefined && agent.updated_at < since) return false
  if (state !== undefined) return agent.state === state && (!roots || agent.parent === null)
  return (all || agent.state !== 'terminated') && (!roots || agent.parent === null)
}

/** `interrupted_startup` and `interrupted_waiting` are derived statuses: people have one word for both. */
function hasStatus(agent: ListedAgent, wanted: string): boolean {
  if (wanted === 'needs_you') return needsPerson(agent)
  return agent.shown_status === wanted || (wanted.includes('_') && agent.status === wanted)
}

function byCreation(a: ListedAgent, b: ListedAgent): number {
  const [x, y] = [createdAt(a), createdAt(b)]
  return x < y ? -1 : x > y ? 1 : a.id < b.id ? -1 : 1
}

function createdAt(agent: ListedAgent): string {
  return 'created_at' in agent ? agent.created_at : ''
}
