/**
 * What mail does to a session: what is delivered, what the end of a run owes to others, what its parent asked of it, and
 * what it asked of itself.
 *
 * Invariants: a message is delivered, or obeyed, at most once. What a run owes when it ends is known from its own log, so
 * that a crash between the end and the sending loses nothing; every owed message has an id that follows from what it
 * answers, so that sending it again sends it once.
 */
import { SessionStateError } from '../../errors.js'
import { limits } from '../../limits.js'
import type { WatchedStatus } from '../fields.js'
import type { NewRecord, Place } from '../records.js'
import type { Location, OutboxEntry, Run, State } from '../state.js'
import { isToContinue } from '../status.js'

/** A message that becomes part of the open run: its prompt, or the result of one of its calls. */
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

/** The id of a message is known from now on. Throws where it is known already. */
export function foldNoted(next: State, messageId: string): State {
  if (next.delivered.includes(messageId)) throw new SessionStateError(`mail ${messageId} is delivered twice`)
  const forgets = forgetsDelivered(next, 1)
  const kept = forgets ? next.delivered.slice(-limits.deliveredIdsKeptMin) : next.delivered
  const delivered_forgotten = next.delivered_forgotten + next.delivered.length - kept.length
  return { ...next, delivered: [...kept, messageId], delivered_forgotten }
}

/** Whether so many more forget the older half of the delivered ids: their files must be gone for good by then. */
export function forgetsDelivered({ delivered }: State, count: number): boolean {
  return delivered.length + count > 2 * limits.deliveredIdsKeptMin
}

/** The latest run is over: who asked gets its reply or why there is none, and the parent is told of a turn that failed. */
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
 * Whether an error is not to be sent yet: a later command continues that turn without being asked to, so its reply is to
 * come. A request has one answer, whichever command comes first after a crash. The error falls due once the turn is past
 * the bound of such attempts, another turn comes first, or the agent is terminated.
 */
export function isDeferred(state: State, { kind, run_id }: OutboxEntry): boolean {
  return kind === 'error' && run_id === state.recovery.interruption?.run_id && isToContinue(state)
}

/** The open run waits for a person or a time. */
export function foldParked(next: State, at: Location): State {
  return toldWatchers(next, at, 'waiting')
}

/** A completed run is reported where it was the agent's last; one of a root where the person does not know already. */
function isReported({ parent, isDone }: State, { status, reason }: Run): boolean {
  if (status === 'completed') return isDone && parent !== null
  return parent !== null || reason === null || !KNOWN_TO_OPERATOR.includes(reason)
}

/** Done by a person, or gone on with by the next command. */
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
  // Of those that cannot be sent, because an inbox is full, the latest of each status is kept: else each turn would add one.
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
      // Nothing to try again after a turn that completed, or while one waits for its decision.
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

/** One that repeats is due again at its next time that is not over: what was missed comes once. */
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
