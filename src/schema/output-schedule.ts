/** The JSON of `schedule`. */
import { z } from 'zod'
import { slotOutcome } from './snapshot.js'
import { flag, integer, text, time, uuid } from './types.js'
import { MISSED_POLICIES, OVERLAP_POLICIES } from './words.js'

export const schedule = z
  .object({
    schedule_id: uuid,
    name: text,
    when: text.describe('As the user wrote it.'),
    calendar: text.describe('The cron expression.'),
    time_zone: text,
    content: text.describe('The message.'),
    missed: z.enum(MISSED_POLICIES),
    overlap: z.enum(OVERLAP_POLICIES),
    until: time.nullable(),
    jitter_ms: integer,
    set_at: time,
    state: z.enum(['active', 'paused', 'ended']).describe('`ended`: no slot follows.'),
    next_at: time.nullable().describe('The next slot. In the past if no command has accounted for it yet.'),
    due_at: time.nullable().describe('The same, with its jitter. Null while no turn would follow.'),
    recent: z.array(slotOutcome).describe('The latest 10, oldest first.'),
  })
  .meta({ id: 'schedule', description: 'A schedule of an agent.' })

/** The same in `list`. */
export const ticker = text.describe(
  'Why slots are late: the commands that begin their turns do not run, or the clock was set back. Absent if they are not.',
)

const listedSchedule = schedule
  .extend({
    agent: uuid,
    path: text,
    prevented: z
      .enum(['gated', 'hold'])
      .nullable()
      .describe('Why its slots have no turns now, besides a pause. They are skipped.'),
  })
  .meta({ id: 'listed_schedule', description: 'A schedule and its agent.' })

export const schedules = z
  .object({
    schedules: z.array(listedSchedule).describe('By agent, oldest first.'),
    ticker: ticker.optional(),
  })
  .describe('The schedules.')

export const oneSchedule = z
  .object({
    ...listedSchedule.shape,
    upcoming: z.array(time).describe('Its next 5 slots.'),
    is_ahead: flag.describe(
      'Whether its next slot is later than its calendar says, because a clock was ahead.',
    ),
  })
  .describe('The schedule.')

export const changedSchedule = z
  .object({
    schedule: listedSchedule,
    changed: flag.describe('False if it was so before.'),
    replaced: uuid.nullable().describe('The schedule that it has replaced.'),
  })
  .describe('The schedule after the change.')

export type ScheduleView = z.infer<typeof schedule>
export type ListedSchedule = z.infer<typeof listedSchedule>
export type SchedulesView = z.infer<typeof schedules>
export type OneSchedule = z.infer<typeof oneSchedule>
export type ChangedSchedule = z.infer<typeof changedSchedule>
