/** Kinds that later commands will write. Until then no command writes them, and a log with one is refused as newer. */
import { content, text, time, uuid } from '../types.js'
import { kind, message_id } from './kind.js'

export const reserved = {
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
