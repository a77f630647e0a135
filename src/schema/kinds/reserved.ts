/** Kinds that later commands will write. Until then no command writes them, and a log with one is refused as newer. */
import { z } from 'zod'
import { content, integer, reading, text, time, uuid } from '../types.js'
import { kind, message_id, run_id } from './kind.js'

const outbound_id = uuid.describe("Derived from the agent's id and the `seq` of the cause.")

export const reserved = {
  'outbound.queued': kind('A message must leave the machine. In the batch of its cause.', {
    outbound_id,
    target: text.describe('The configured target.'),
    event: z.enum(['waiting', 'failed', 'interrupted', 'limited', 'completed', 'message']),
    run_id: run_id.optional(),
    thread: text.optional().describe('The conversation at the target.'),
    content: content.optional(),
    expires_at: time.optional(),
    clock: reading.optional(),
  }),
  'outbound.sent': kind('The target accepted it.', {
    outbound_id,
    attempt: integer,
    remote_id: text.optional().describe('The id that the target gave.'),
  }),
  'outbound.failed': kind('An attempt failed. The next one is not before `not_before`.', {
    outbound_id,
    attempt: integer,
    why: text,
    not_before: time,
    clock: reading.optional(),
  }),
  'outbound.dropped': kind('It will not be sent.', {
    outbound_id,
    reason: z.enum(['attempts', 'expired', 'refused', 'queue_full', 'no_target']),
    why: text.optional(),
  }),
  'schedule.set': kind('A message is sent to the agent at each time of a calendar.', {
    schedule_id: uuid,
    calendar: text.describe('A cron expression.'),
    time_zone: text,
    content,
    next_at: time,
  }),
  'schedule.fired': kind('The message of one time was delivered.', {
    schedule_id: uuid,
    message_id,
    due_at: time,
    next_at: time,
  }),
  'schedule.cancelled': kind('The schedule ends.', { schedule_id: uuid }),
}
