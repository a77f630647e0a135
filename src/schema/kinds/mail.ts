/** The records of mail and reminders. */
import { z } from 'zod'
import { content, flag, integer, reading, text, time, uuid } from '../types.js'
import { actor, kind, message_id, run_id } from './kind.js'

export const mail = {
  'mail.delivered': kind('A message becomes part of the run. Its file is removed afterwards.', {
    run_id,
    message_id,
    from: text,
    from_path: text.optional().describe("The sender's path when it sent the message."),
    mail_kind: z
      .enum(['request', 'response', 'notification', 'error'])
      .describe('See [mail](mail.md#kinds).'),
    reply_to: uuid.optional(),
    content,
    sent_at: time,
    call_id: text.optional().describe('The call whose result it is. Without it, the message is a prompt.'),
    reminder_id: uuid.optional().describe('The reminder that became this message.'),
    schedule_id: uuid.optional().describe('The schedule that became this message.'),
    clock: reading
      .optional()
      .describe('For a reminder: the clock at delivery. Unlike `ts` it may be behind earlier records.'),
    actor: actor.describe('The writer of a message of the operator or of a channel.'),
  }),
  'mail.replied': kind('The agent answered this request before the end of its run.', {
    run_id,
    message_id,
  }),
  'mail.answered': kind('All due replies and errors of ended runs are in the inboxes.', {
    deferred: flag
      .optional()
      .describe('True if the errors of a suspended run are not among them, because `resume` continues it.'),
  }),
}

export const reminders = {
  'reminder.set': kind('The agent sets a reminder for itself.', {
    reminder_id: uuid,
    content,
    due_at: time.describe('The first delivery.'),
    every_ms: integer.nullable().describe('Null for a single one.'),
    clock: reading.optional().describe('When the delay began. Absent if a time was named.'),
  }),
  'reminder.cancelled': kind('The agent cancels it.', { reminder_id: uuid }),
}
