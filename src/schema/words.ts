/** The words of each enumeration in records. Programs load this module; it must stay free of zod. */

/** The failures that a provider may report. */
export const PROVIDER_FAILURE_TYPES = [
  'overloaded',
  'rate_limit',
  'invalid',
  'overflow',
  'refused',
  'invalid_response',
  'authentication',
  'misconfigured',
  'unreachable',
  'timeout',
  'crashed',
  'session_lost',
  'busy',
  'server_error',
  'billing',
] as const

export const FAILURE_TYPES = [...PROVIDER_FAILURE_TYPES, 'max_steps', 'empty'] as const

export type FailureType = (typeof FAILURE_TYPES)[number]

/**
 * - `process_exit`: the process of the run is gone.
 * - `process_restart`: the machine was restarted too.
 * - `program_killed`: a signal that substrat did not send ended the agent program, or the program exited with status 0 in the
 *   middle of the turn.
 */
export const INTERRUPTIONS = [
  'process_exit',
  'process_restart',
  'program_killed',
  'shutdown',
  'suspended',
  'unknown_tool',
  'wait_timeout',
  'program_alive',
  'other_host',
] as const

export type Interruption = (typeof INTERRUPTIONS)[number]

/** `moved`: the agent left the home of the sender. `copied`: it was open when its agent was exported. `log_damaged`: the undamaged part of the log ends in the middle of the run, see `session.rebuilt`. */
export const CANCELLATIONS = [
  'turn_timeout',
  'terminated',
  'cancelled',
  'superseded',
  'log_damaged',
  'copied',
  'moved',
] as const

export const WAITS = ['approval', 'input', 'tool_result', 'not_before', 'budget'] as const

/** The acts of people and programs on an agent. `supplied`: the result of a call. `released`: from its hold. */
export const ACTS = [
  'asked',
  'approved',
  'denied',
  'answered',
  'supplied',
  'continued',
  'cancelled',
  'suspended',
  'held',
  'released',
  'gated',
  'ungated',
  'changed',
  'created',
  'terminated',
] as const

export type ActKind = (typeof ACTS)[number]

/** The units that a budget counts. `tokens`: input and output. `time`: the wall-clock time of turns. */
export const BUDGET_UNITS = ['tokens', 'usd', 'turns', 'requests', 'time'] as const
export type BudgetUnit = (typeof BUDGET_UNITS)[number]

/** A budget without one is for the whole life of its agent, or of the home. */
export const BUDGET_PERIODS = ['hour', 'day', 'week', 'month'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

export const DECISIONS = ['approve', 'deny', 'input', 'result'] as const

export type Decision = (typeof DECISIONS)[number]

/** The statuses that watchers receive when an agent stops running. */
export const WATCHED_STATUSES = ['idle', 'waiting', 'interrupted'] as const

export type WatchedStatus = (typeof WATCHED_STATUSES)[number]

export const STATUSES = ['running', 'waiting', 'idle', 'interrupted_startup', 'interrupted_waiting'] as const

export type Status = (typeof STATUSES)[number]

/**
 * The one word for an agent that people get. `shownStatus` in session/shown-status.ts chooses it, and docs/commands.md has a
 * table of them.
 */
export const SHOWN_STATUSES = [
  'running',
  'waiting',
  'limited',
  'interrupted',
  'held',
  'gated',
  'refused',
  'failed',
  'timed_out',
  'cancelled',
  'scheduled',
  'idle',
  'terminated',
  'corrupt',
] as const

export type ShownStatus = (typeof SHOWN_STATUSES)[number]

const NEEDS_PERSON: readonly ShownStatus[] = [
  'waiting',
  'interrupted',
  'refused',
  'failed',
  'timed_out',
  'corrupt',
]

/** Whether the agent goes on only after a person did something. Lists, the page and its counts all ask this function. */
export function needsPerson({ shown_status }: { shown_status: ShownStatus }): boolean {
  return NEEDS_PERSON.includes(shown_status)
}

/** The word in text for people. JSON, pipes, `--status` and metrics have it without a space. */
export function wordOfStatus(status: string): string {
  return status.replace('_', ' ')
}

/** The reverse of `wordOfStatus`, for what a person types: `timed out`, `timed-out` or `Timed out`. */
export function statusOfWord(word: string): string {
  return word.toLowerCase().replaceAll(/[ -]/g, '_')
}

/** The commands, and the places of the setting, that let an agent use a tool without approval. */
export const GRANTED_BY = {
  spawn: 'spawn --allow',
  set: 'set --allow',
  approve: 'approve --always',
  setting: 'setting allow',
  environment: 'SUBSTRAT_ALLOW',
} as const

/**
 * The agent setting `context`: how much of the earlier conversation a new turn begins with. `turn`: nothing. `last:N`: the last N turns.
 * An agent without the setting has `all`.
 */
export const CONTEXT = /^(all|turn|last:[1-9][0-9]{0,2})$/

/** The setting with its meaning, for people. Only for an agent that has one. */
export function contextText(context: string): string {
  if (context === 'turn') return 'turn: each turn begins a new conversation'
  const turns = context === 'last:1' ? 'turn' : `${context.slice('last:'.length)} turns`
  return `${context}: a turn begins with the ${turns} before it`
}

export const SESSION_STATES = ['created', 'active', 'suspended', 'terminated'] as const

export const RUN_STATUSES = ['open', 'completed', 'failed', 'cancelled', 'interrupted'] as const

export const OUTBOX_KINDS = ['response', 'error', 'notification'] as const

/** The events of which a target can be notified. `limited`: the turn waits for the end of a rate limit. `missed`: slots of a schedule. */
export const NOTIFY_EVENTS = ['waiting', 'failed', 'interrupted', 'limited', 'missed', 'completed'] as const

/** `message`: a message of a conversation, not an event. */
export const OUTBOUND_EVENTS = [...NOTIFY_EVENTS, 'message'] as const

/**
 * Why a turn could not begin. `authentication`, `settings`, `not_installed`, `broken_plugin`: of its provider. `host`: the agent belongs
 * to another host. `program`: a program of the interrupted turn may still run. `unknown_tool`: the outcome of one of its tool calls is unknown. `waiting`: an earlier turn waits, and the message was not to
 * replace it or be queued.
 */
export const REFUSAL_CAUSES = [
  'hold',
  'gate',
  'program',
  'unknown_tool',
  'authentication',
  'settings',
  'not_installed',
  'broken_plugin',
  'waiting',
] as const

export type RefusalCause = (typeof REFUSAL_CAUSES)[number]

/** A rule of `on_unknown`: an entry of `allow`, and the action for a call whose result a crash lost. */
export const ON_UNKNOWN_RULE =
  /^([\w-]{1,128}(?:\([^()\n]{1,500}\))?)=(rerun|stop|continue|check[ \t]+(\S[^\n]{0,1999}))$/

/** The findings of the command of a rule `check`. */
export const CHECK_FINDINGS = ['done', 'not_done', 'unknown'] as const

export type CheckFinding = (typeof CHECK_FINDINGS)[number]

/** The bodies that targets take. */
export const NOTIFY_FORMATS = ['json', 'slack', 'discord', 'ntfy'] as const

export type NotifyEvent = (typeof NOTIFY_EVENTS)[number]
export type OutboundEvent = (typeof OUTBOUND_EVENTS)[number]

export const OUTBOUND_DROPS = [
  'attempts',
  'expired',
  'refused',
  'queue_full',
  'no_target',
  'superseded',
] as const

/** For the slots of a schedule that no command could begin in time: one turn for all, none, or a turn for each. */
export const MISSED_POLICIES = ['once', 'skip', 'all'] as const

/** For a slot during the turn of an earlier slot of its schedule: no turn, or a turn after that one. */
export const OVERLAP_POLICIES = ['skip', 'queue'] as const

/** Why a slot has no turn although a command came in time. */
export const SKIP_CAUSES = [
  'overlap',
  'paused',
  'gated',
  'hold',
  'budget',
  'terminated',
  'removed',
  'replaced',
] as const

/** Why no command began the turn of a slot in time. `late`: none came. `busy`: an earlier turn was not over. `refused`: no turn could begin. */
export const MISSED_CAUSES = ['late', 'busy', 'refused'] as const

export type SkipCause = (typeof SKIP_CAUSES)[number]
export type MissedCause = (typeof MISSED_CAUSES)[number]

export const SLOT_OUTCOMES = ['ran', 'skipped', 'missed'] as const

/** The fates of a message that a channel received. */
export const CHANNEL_OUTCOMES = ['delivered', 'decided', 'refused'] as const

export type ChannelOutcome = (typeof CHANNEL_OUTCOMES)[number]

/** The rows of the recovery table. */
export const RECOVERY_ROWS = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'H2', 'I', 'J'] as const

/** The severity of a finding of `doctor`, worst first. */
export const VERDICTS = ['damaged', 'needs_you', 'repairs_itself', 'harmless'] as const

/** How the reply that `show` prints relates to the latest turn. */
export const REPLY_PARTS = ['final', 'so_far', 'previous'] as const

/** Which hosts of a shared home may run turns of an agent: the host of its workspace, or any. */
export const WORKSPACE_SCOPES = ['host', 'any'] as const
export type WorkspaceScope = (typeof WORKSPACE_SCOPES)[number]

/** The results of a check of `selftest`. */
export const SELFTEST_VERDICTS = ['holds', 'does_not_hold', 'unknown'] as const

/** The rights of a token of the server. Each has those before it. */
export const SCOPES = ['read', 'answer', 'all'] as const
export type Scope = (typeof SCOPES)[number]

const GRANTED: Record<Scope, readonly Scope[]> = {
  read: ['read'],
  answer: ['read', 'answer'],
  all: ['read', 'answer', 'all'],
}

/** Whether a token that `may` do this is enough for what needs that. An unknown word is refused. */
export function isAllowed(may: Scope, needed: Scope): boolean {
  return Object.hasOwn(GRANTED, may) && GRANTED[may].includes(needed)
}

/** The name of a named token of the server. */
export const TOKEN_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
