/**
 * The fold: records -> state, pure.
 *
 * Invariants: seq is dense from 1. The first record is `session.created`. A session has at most one open run, the latest.
 * Exactly one of completed, failed, cancelled, interrupted ends a run. Mail is delivered at most once.
 *
 * An illegal transition throws SessionStateError. Before a write that is a bug or a refused command; after a read it is
 * corruption.
 */
import { SessionStateError } from '../../errors.js'
import type { SessionRecord } from '../records.js'
import type { Location, State } from '../state.js'
import { foldBudget } from './budget.js'
import { channelAnnounced, channelCursor, channelHandled, channelReceived } from './channel.js'
import { rebaseClock } from './clock.js'
import {
  foldAnswered,
  foldControl,
  foldNoted,
  foldParked,
  foldWatch,
  mailDelivered,
  reminderSet,
} from './mail.js'
import { foldArrived, foldMoved } from './move.js'
import { outboundQueued, outboundResult } from './outbound.js'
import { turnRefused, withoutRefusals } from './refused.js'
import {
  compactedRun,
  failedRequest,
  leftPrograms,
  openRun,
  programsGone,
  runEnded,
  runStarted,
  withUsage,
} from './run.js'
import { foldSchedule, withPreventedSlots, withScheduledRun } from './schedule.js'
import { foldConfigured, foldCreated, foldImported, foldRebuilt, foldUpgraded, moveTo } from './session.js'
import { withToken } from './tokens.js'
import {
  foldResponse,
  foldResumed,
  hostOf,
  isFirstLate,
  isOfProgram,
  programActed,
  toolDeferred,
  toolEdited,
  toolFinished,
  toolLookedAt,
  toolRepeated,
  toolStarted,
  waitingRun,
} from './turn.js'
import { countUsage, uncounted } from './usage.js'

/** The state after one more record. `state` is undefined before the first. Never mutates its arguments. */
export function fold(state: State | undefined, record: SessionRecord, at: Location): State {
  if (state === undefined) {
    if (record.kind !== 'session.created')
      throw new SessionStateError('the first record is not session.created')
    return foldCreated(record, at)
  }
  if (state.state === 'terminated' && !AFTER_THE_END.includes(record.kind)) {
    throw new SessionStateError(`the session is terminated: no ${record.kind} after that`)
  }
  const next = apply({ ...state }, record, at)
  if (next.schedules !== undefined)
    next.schedules = withPreventedSlots(withScheduledRun(next.schedules, record, state), record, state)
  if (
    next.budget !== undefined ||
    record.kind.startsWith('budget.') ||
    record.kind === 'session.configured'
  ) {
    const budget = foldBudget(state, next, record)
    if (budget === undefined) delete next.budget
    else next.budget = budget
  }
  next.updated_at = record.ts
  next.last_seq = at.seq
  next.last_offset = at.offset
  next.log_bytes = at.end
  return next
}

/** A terminated agent still sends its outbox, and records that. One that moved may arrive. */
const AFTER_THE_END: string[] = [
  'status.derived',
  'mail.answered',
  'outbound.attempted',
  'outbound.sent',
  'outbound.failed',
  'outbound.dropped',
  'session.upgraded',
  'session.arrived',
]

function apply(next: State, record: SessionRecord, at: Location): State {
  switch (record.kind) {
    case 'session.created':
      throw new SessionStateError('the session is created twice')
    case 'session.configured':
      return foldConfigured(next, record)
    case 'session.upgraded':
      return foldUpgraded(next, record)
    case 'session.activated':
      return seenBy(moveTo(next, 'active'), record)
    case 'session.suspended':
      return { ...moveTo(next, 'suspended'), suspended_at: record.ts }
    case 'session.terminated':
      if (next.run?.status === 'open')
        throw new SessionStateError('a session with an open run cannot be terminated')
      if (next.warm !== undefined)
        throw new SessionStateError('a session whose server was not stopped cannot be terminated')
      return moveTo(next, 'terminated')
    case 'session.rebuilt':
      return foldRebuilt(next, record, at)
    case 'session.imported':
      return foldImported(next, record, at)
    case 'session.moved':
      return foldMoved(next, record, at)
    case 'session.arrived':
      return foldArrived(next, record)
    case 'run.started':
      return seenBy(withoutRefusals(runStarted(next, record, at), record.continues === undefined), record)
    case 'run.resumed':
      // A run that waited for a time and continues on time is not an attempt that counts.
      if (record.auto && next.run?.wait == null)
        next.recovery = { ...next.recovery, barren_attempts: next.recovery.barren_attempts + 1 }
      next.run = foldResumed(openRun(next, record.run_id), record, next.tokens)
      next.isPoked = false
      return seenBy(withoutRefusals(next, false), record)
    case 'run.waiting': {
      const run = openRun(next, record.run_id)
      countUsage(next, waitingRun(run, record, at), record.usage)
      // A program that asks has received the seed.
      if (record.wait !== 'not_before' && record.wait !== 'budget') next.isSeedDue = false
      // A rotated token does not change the status, so watchers get no notice.
      return run.wait === null ? foldParked(next, at) : next
    }
    case 'run.completed':
      next.isDone = record.terminates === true
      return runEnded(withUsage(next, record, uncounted(openRun(next, record.run_id), record)), record, at, {
        status: 'completed',
      })
    case 'run.failed':
      return runEnded(withUsage(next, record), record, at, {
        status: 'failed',
        error: record.error,
        ...(record.said === undefined ? {} : { said: at }),
      })
    case 'run.cancelled':
      return runEnded(withUsage(next, record), record, at, { status: 'cancelled', reason: record.reason })
    case 'run.programs_gone':
      return programsGone(next, record)
    case 'run.interrupted':
      next.recovery = {
        ...next.recovery,
        interruption: { run_id: record.run_id, reason: record.reason, at: record.ts },
        // A signal to substrat, as at a restart of the machine, says nothing about the turn, so the attempt does not count.
        barren_attempts: Math.max(0, next.recovery.barren_attempts - (record.reason === 'shutdown' ? 1 : 0)),
      }
      return runEnded(withUsage(next, record), record, at, {
        status: 'interrupted',
        reason: record.reason,
        error: record.error ?? null,
        ...leftPrograms(record),
      })
    case 'turn.refused':
      return turnRefused(next, record)
    case 'message.user':
      // The prompt that continues a program's turn includes the decision, which the program may not have received.
      next.run = { ...openRun(next, record.run_id), prompts: [at], answer: null }
      return next
    case 'mail.delivered':
      return mailDelivered(next, openRun(next, record.run_id), record, at)
    case 'mail.replied': {
      const run = openRun(next, record.run_id)
      next.run = {
        ...run,
        requests: run.requests.filter(({ message_id }) => message_id !== record.message_id),
      }
      return next
    }
    case 'mail.answered':
      return foldAnswered(next, record)
    case 'outbound.queued':
      return outboundQueued(next, record, at)
    case 'outbound.attempted':
    case 'outbound.sent':
    case 'outbound.failed':
    case 'outbound.dropped': {
      const noted = record.message_id === undefined ? next : foldNoted(next, record.message_id)
      return outboundResult(noted, record)
    }
    case 'channel.received':
      return channelReceived(next, record, at)
    case 'channel.cursor':
      return channelCursor(next, record)
    case 'channel.handled':
      return channelHandled(next, record)
    case 'channel.taken':
      return foldNoted(next, record.message_id)
    case 'channel.announced':
      return channelAnnounced(next, record)
    case 'clock.set_back':
      return rebaseClock(next, record.clock)
    case 'reminder.set':
      return reminderSet(next, record)
    case 'reminder.cancelled':
      next.reminders = next.reminders.filter(({ reminder_id }) => reminder_id !== record.reminder_id)
      return next
    case 'schedule.set':
    case 'schedule.fired':
    case 'schedule.skipped':
    case 'schedule.missed':
    case 'schedule.ran_now':
    case 'schedule.paused':
    case 'schedule.resumed':
    case 'schedule.removed':
      return foldSchedule(next, record)
    case 'agent.gated':
    case 'agent.ungated':
    case 'agent.permitted':
    case 'agent.poked':
      return foldControl(foldNoted(next, record.message_id), record)
    case 'agent.watched':
    case 'agent.unwatched':
      return foldWatch(foldNoted(next, record.message_id), record)
    case 'message.agent':
      next.run = {
        ...openRun(next, record.run_id),
        phase: 'answered',
        reply: at,
        ...(record.terminates === true ? { terminates: true } : {}),
      }
      next.reply = at
      next.recovery = { ...next.recovery, barren_attempts: 0 }
      return withUsage(next, record)
    case 'model.requested':
      next.run = { ...openRun(next, record.run_id), phase: 'asked' }
      next.recovery = { ...next.recovery, unanswered_requests: next.recovery.unanswered_requests + 1 }
      return next
    case 'model.responded':
      countUsage(next, foldResponse(openRun(next, record.run_id), record, at), record.usage)
      next.recovery = { ...next.recovery, barren_attempts: 0, unanswered_requests: 0 }
      return next
    case 'model.failed':
      return countUsage(next, failedRequest(next, record.run_id), record.usage)
    case 'tool.started': {
      const run = toolStarted(openRun(next, record.run_id), record)
      return isOfProgram(record) ? programActed(next, run) : { ...next, run }
    }
    case 'tool.repeated':
      next.run = toolRepeated(openRun(next, record.run_id), record)
      return next
    case 'tool.check_started':
      next.run = toolLookedAt(openRun(next, record.run_id), record.call_id, record.group)
      return next
    case 'tool.checked':
      next.run = toolLookedAt(openRun(next, record.run_id), record.call_id, null)
      return next
    case 'tool.edited':
      next.run = toolEdited(openRun(next, record.run_id), record, at)
      return next
    case 'tool.deferred':
      next.run = toolDeferred(openRun(next, record.run_id), record)
      return next
    case 'tool.finished': {
      const run = openRun(next, record.run_id)
      next.run = toolFinished(run, record)
      if (record.timed_out === true && isFirstLate(next, run)) next.timed_out = at.seq
      // For a model the result is progress. An agent program that is killed each time may make the same call each time.
      if (next.run.program_calls.length === run.program_calls.length)
        next.recovery = { ...next.recovery, barren_attempts: 0 }
      return next
    }
    case 'server.started': {
      const run = openRun(next, record.run_id)
      next.run = { ...run, servers: [...run.servers, record.group] }
      return next
    }
    case 'server.failed':
      openRun(next, record.run_id)
      return next
    case 'server.kept': {
      const { server_id, group } = record
      return { ...next, warm: { server_id, group } }
    }
    case 'server.stopped': {
      const { warm, ...rest } = next
      if (warm?.server_id !== record.server_id)
        throw new SessionStateError(`server ${record.server_id} is not kept`)
      return rest
    }
    case 'token.minted':
    case 'token.consumed':
    case 'token.revoked':
    case 'token.expired':
      next.tokens = withToken(next.run, next.tokens, record)
      return next
    case 'context.tried':
      return withUsage(next, record)
    case 'context.compacted':
      countUsage(next, compactedRun(next, record.run_id), record.usage)
      return { ...next, compaction: at, context_seq: record.keeps_seq, context_offset: record.keeps_offset }
    case 'prompt.assembled':
    case 'message.notice':
      openRun(next, record.run_id)
      return next
    case 'provider.started': {
      const { process_group, start_time, kernel_boot_id, pid_namespace, lease } = record
      const leash = lease === undefined ? {} : { lease }
      const process = {
        process_group,
        start_time,
        kernel_boot_id,
        pid_namespace,
        ...hostOf(record),
        ...leash,
      }
      next.run = { ...openRun(next, record.run_id), phase: 'launched', process, hasLaunched: true }
      return next
    }
    case 'provider.state':
      return { ...next, provider_state: record.state }
    case 'program.tool_started':
      return programActed(next, openRun(next, record.run_id))
    case 'program.tool_finished':
    case 'program.note':
    case 'program.output':
      openRun(next, record.run_id)
      return next
    case 'wait.answered':
      next.run = { ...openRun(next, record.run_id), answer: at }
      return next
    case 'session.seeded':
      return { ...next, provider_state: null, seed: at, isSeedDue: true }
    case 'status.derived':
    case 'budget.held':
    case 'budget.granted':
      return next
  }
}

/** Remembers the process that works in the session. Changes `next`, because a copy of the state costs time in each fold. */
function seenBy(next: State, { boot_id }: { boot_id: string }): State {
  next.recovery = { ...next.recovery, last_boot_seen: boot_id }
  return next
}
