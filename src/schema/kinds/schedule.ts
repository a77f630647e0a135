/** The records of schedules: messages to the agent at the times of a calendar. */
import { z } from 'zod'
import { content, integer, text, time, uuid } from '../types.js'
import { MISSED_CAUSES, MISSED_POLICIES, OVERLAP_POLICIES, SKIP_CAUSES } from '../words.js'
import { actor, kind, message_id, run_id } from './kind.js'

const named = { schedule_id: uuid, name: text }
const next_at = time.nullable().describe('The next slot. Null if `until` is before it.')

/** Slots that get no turn of their own, in one record however many they are. */
const range = {
  from: time.describe('The first of the slots.'),
  to: time.describe('The last one.'),
  count: integer,
  next_at,
}

export const schedule = {
  'schedule.set': kind('A message is sent to the agent at each slot, which is a time of a calendar.', {
    ...named,
    when: text.describe('As the user wrote it.'),
    calendar: text.describe('The cron expression.'),
    time_zone: text,
    content,
    next_at: time.describe('The first slot.'),
    every_ms: integer.describe('The shortest time between two of its next slots.'),
    missed: z.enum(MISSED_POLICIES),
    overlap: z.enum(OVERLAP_POLICIES),
    until: time.optional().describe('No slot is later.'),
    jitter_ms: integer.optional().describe('A slot is due up to this much later.'),
    replaces: uuid.optional().describe('The schedule that ends with this record.'),
    actor,
  }),
  'schedule.fired': kind('The turn of a slot begins. In one batch with `run.started` and the message.', {
    ...named,
    run_id,
    message_id,
    due_at: time.describe('The slot.'),
    next_at,
  }),
  'schedule.skipped': kind('Slots have no turn, because something prevented it.', {
    ...named,
    why: z.enum(SKIP_CAUSES),
    ...range,
  }),
  'schedule.missed': kind('Slots have no turn of their own, because no command could begin it in time.', {
    ...named,
    why: z.enum(MISSED_CAUSES),
    ...range,
    message_id: message_id.optional().describe('The message that names them.'),
  }),
  'schedule.ran_now': kind('A person runs the message outside the calendar.', {
    ...named,
    run_id,
    message_id,
    actor,
  }),
  'schedule.paused': kind('Its slots have no turns from now on.', { ...named, actor }),
  'schedule.resumed': kind('Its slots have turns again.', { ...named, actor }),
  'schedule.removed': kind('The schedule ends.', { ...named, actor }),
}
