/**
 * Folds mail: deliveries, the outbox, control messages, watchers and reminders.
 *
 * Invariants: a message is delivered or applied at most once. The outbox follows from the agent's own log, so a crash between
 * the end of a run and the sending loses no message. The id of each sent message is derived from the run and the request,
 * so sending it again delivers it once.
 */
import { SessionStateError } from '../../errors.js'
import { limits } from '../../limits.js'
import type { WatchedStatus } from '../../schema/words.js'
import type { NewRecord, Place } from '../records.js'
import type { Location, OutboxEntry, Run, State } from '../state.js'
import { isPaused, isToContinue } from '../status.js'

/** Adds a message to the open run, as part of its prompt or as the result of one of its calls. */
export function mailDelivered(
  next: State,
  run: Run,
  record: NewRecord<'mail.delivered'> & Place,
  at: Location,
): State {
  const { message_id, from, mail_kind, call_id, reminder_id } = record
  const isRequest = mail_kind === 'request'
  next.run = {
    ...run,
    prompts: call_id === undefined ? [...run.prompts, at] : run.prompts,
    requests: isRequest ? [...run.requests, { message_id, from }] : run.requests,
  }
  if (reminder_id !== undefined) next.reminders = afterReminder(next, reminder_id, record)
  return foldNoted(next, message_id)
}

/** Adds a message id to the delivered ids. Throws if it is one already. */
export function foldNoted(next: State, messageId: string): State {
  if (next.delivered.includes(messageId)) throw new SessionStateError(`mail ${messageId} is delivered twice`)
  const forgets = forgetsDelivered(next, 1)
  const kept = forgets ? next.delivered.slice(-limits.deliveredIdsKeptMin) : next.delivered
  const delivered_forgotten = next.delivered_forgotten + next.delivered.length - kept.length
  return { ...next, delivered: [...kept, messageId], delivered_forgotten }
}

/** Whether `count` more ids would drop the older half of the delivered ids. Their files must be durably removed before. */
export function forgetsDelivered({ delivered }: State, count: number): boolean {
  return delivered.length + count > 2 * limits.deliveredIdsKeptMin
}

/** The latest run has ended: each requester gets the reply or an error, and the parent gets a report of a failed turn. */
export function foldEnded(next: State, at: Location): State {
  const run = next.run as Run
  const { run_id, reply } = run
  const isCompleted = run.status === 'completed'
  const trouble = isCompleted ? null : { status: run.status, reason: run.reason, error: run.error }
  const message = { run_id, seq: at.seq, reply: isCompleted ? reply : null, trouble, status: null }
  const kind = isCompleted ? 'response' : 'error'
  const answers = run.requests.map(
    ({ from, message_id }): OutboxEntry => ({ ...message, to: from, kind, reply_to: message_id }),
  )
  const superior = next.parent ?? 'operator'
  const isTold = answers.some(({ to }) => to === superior)
  const report: OutboxEntry = {
    ...message,
    to: superior,
    kind: isCompleted ? 'notification' : 'error',
    reply_to: null,
  }
  const reports = !isTold && isReported(next, run) ? [report] : []
  const status = run.status === 'interrupted' ? 'interrupted' : 'idle'
  return toldWatchers({ ...next, owes: [...next.owes, ...answers, ...reports] }, at, status)
}

/**
 * Whether an error must not be sent yet, because its reply will follow: a later command continues the turn automatically, or
 * `resume` continues the turn that a person suspended. A request thus has one answer. The error is sent once the automatic attempts
 * are used up, another turn comes first, or the agent is terminated.
 */
export function isDeferred(state: State, { kind, run_id }: OutboxEntry): boolean {
  return kind === 'error' && run_id === state.recovery.interruption?.run_id && hasReplyAhead(state)
}

function hasReplyAhead(state: State): boolean {
  return isToContinue(state) || isPaused(state)
}

/** The due mail was sent. Versions that wrote no `deferred` sent the errors of a suspended turn at once. */
export function foldAnswered(next: State, { deferred }: NewRecord<'mail.answered'>): State {
  if (isPaused(next) && deferred !== true) return { ...next, owes: [] }
  return { ...next, owes: next.owes.filter((owed) => isDeferred(next, owed)) }
}

/** The open run is parked: notifies the watchers. */
export function foldParked(next: State, at: Location): State {
  return toldWatchers(next, at, 'waiting')
}

/** Whether the parent, or the operator, gets a report. A completed run is reported only if it was a child's last. */
function isReported({ parent, isDone }: State, { status, reason }: Run): boolean {
  if (status === 'completed') return isDone && parent !== null
  return parent !== null || reason === null || !KNOWN_TO_OPERATOR.includes(reason)
}

/** A person caused these ends, or the next command continues the turn. A root does not report them to the operator. */
const KNOWN_TO_OPERATOR: NonNullable<Run['reason']>[] = [
  'cancelled',
  'superseded',
  'suspended',
  'terminated',
  'shutdown',
  'process_exit',
  'process_restart',
  'program_killed',
]

function toldWatchers(next: State, at: Location, status: WatchedStatus): State {
  const told = next.watchers.filter(({ on }) => on.includes(status))
  if (told.length === 0) return next
  const { run_id } = next.run as Run
  const notices = told.map(
    ({ from, subscription_id }): OutboxEntry => ({
      to: from,
      kind: 'notification',
      reply_to: subscription_id,
      status,
      run_id,
      seq: at.seq,
      reply: null,
      trouble: null,
    }),
  )
  const watchers = next.watchers.filter((watcher) => !(told.includes(watcher) && watcher.once))
  // While a watcher's inbox is full, only its latest notice per status stays, so that the outbox does not grow with each turn.
  const others = next.owes.filter(
    (owed) =>
      owed.status !== status || !told.some(({ subscription_id }) => subscription_id === owed.reply_to),
  )
  return { ...next, owes: [...others, ...notices], watchers }
}

export function foldControl(
  next: State,
  record: NewRecord<'agent.gated' | 'agent.ungated' | 'agent.permitted' | 'agent.poked'>,
): State {
  const { isGated, permits } = next.gate
  switch (record.kind) {
    case 'agent.gated':
      return { ...next, gate: { isGated: true, permits } }
    case 'agent.ungated':
      return { ...next, gate: { isGated: false, permits: 0 } }
    case 'agent.permitted':
      return { ...next, gate: { isGated, permits: isGated ? permits + 1 : 0 } }
    case 'agent.poked':
      // After a completed turn, or while one waits for a decision, there is no turn to retry.
      return {
        ...next,
        isPoked: next.run !== null && next.run.status !== 'completed' && next.run.wait === null,
      }
  }
}

export function foldWatch(next: State, record: NewRecord<'agent.watched' | 'agent.unwatched'>): State {
  const others = next.watchers.filter(({ from }) => from !== record.from)
  if (record.kind === 'agent.unwatched') return { ...next, watchers: others }
  const { from, on, once, message_id } = record
  return { ...next, watchers: [...others, { subscription_id: message_id, from, on, once }] }
}

export function reminderSet(next: State, record: NewRecord<'reminder.set'>): State {
  const { reminder_id, content, due_at, every_ms, clock = null } = record
  if (next.reminders.some((reminder) => reminder.reminder_id === reminder_id))
    throw new SessionStateError(`reminder ${reminder_id} is set twice`)
  return { ...next, reminders: [...next.reminders, { reminder_id, content, due_at, every_ms, clock }] }
}

/** A repeating reminder is next due at its first time in the future, so missed times are delivered as one. */
function afterReminder(
  { reminders }: State,
  reminderId: string,
  { ts, clock }: NewRecord<'mail.delivered'> & Place,
): State['reminders'] {
  return reminders.flatMap((reminder) => {
    const { reminder_id, every_ms, due_at } = reminder
    if (reminder_id !== reminderId) return [reminder]
    if (every_ms === null) return []
    const due = Date.parse(due_at)
    const times = Math.floor(Math.max(0, Date.parse(clock?.at ?? ts) - due) / every_ms) + 1
    const next = new Date(due + times * every_ms).toISOString()
    return [{ ...reminder, due_at: next, clock: reminder.clock == null ? null : (clock ?? null) }]
  })
}
