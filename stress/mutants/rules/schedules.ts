/** Schedules: each slot is accounted for once, by the rule that applies to it. */
import type { Mutant } from '../mutant.js'

export const SCHEDULES: Mutant[] = [
  {
    name: 'a slot is accounted for twice',
    edits: [['if (from !== schedule.next_at)', 'if (from === undefined)']],
    suites: ['session/fold/schedule'],
  },
  {
    name: 'the next slot of a schedule falls',
    edits: [['to < from || (next_at !== null && next_at <= to)', 'to < from']],
    suites: ['session/fold/schedule'],
  },
  {
    name: 'the id of the message of a slot does not depend on its schedule',
    edits: [['deriveId(schedule_id, slot)', 'deriveId(slot)']],
    suites: ['dispatch/schedules#follows from the schedule'],
  },
  {
    name: 'slots of a gated agent are missed, not skipped',
    edits: [["before.gate.isGated && before.gate.permits === 0 ? 'gated' : undefined", 'undefined']],
    suites: ['dispatch/schedules#a gate'],
  },
  {
    name: 'slots of an agent on hold are missed, not skipped',
    edits: [["before.hold && record.hold === false ? 'hold' : undefined", 'undefined']],
    suites: ['dispatch/schedules#a hold'],
  },
  {
    name: 'a slot during the turn of an earlier one runs after it',
    edits: [
      [
        "overlap === 'skip' && run_id === runId && busy_since !== null",
        "overlap === 'queue' && busy_since !== null",
      ],
    ],
    suites: ['dispatch/schedules#overlap skip'],
  },
  {
    name: 'a turn that continued hides the slots before',
    edits: [["(next_at ?? '') >= busy_since", 'next_at !== null']],
    suites: ['dispatch/schedules#died with its process'],
  },
  {
    name: 'a late slot runs although late slots are to be skipped',
    edits: [["policy === 'skip' && isTooLate(schedule, state, last, now)", 'false']],
    suites: ['dispatch/schedules#skip runs none of them'],
  },
  {
    name: 'each of very many missed slots has a turn',
    edits: [["policy === 'all' && count <= limits.slotsMadeUpMax", "policy === 'all'"]],
    suites: ['dispatch/schedules#all makes one turn'],
  },
  {
    name: 'a slot shares its turn with other messages',
    edits: [["|| 'schedule_id' in mail", '']],
    suites: ['dispatch/schedules#a turn of its own'],
  },
  {
    name: 'an agent with a schedule needs no visit',
    edits: [["hasNextSlot(state) ? 'schedule' : undefined", 'undefined']],
    suites: ['dispatch/schedules#at the first tick'],
  },
  {
    name: 'a copy of an agent has its schedules',
    edits: [['schedules: _____, ', '']],
    suites: ['commands/schedule#copy'],
  },
  {
    name: 'a day with a change of the clock counts as any other',
    edits: [['return isOrdinary ? start : undefined', 'return start']],
    suites: ['schedule/calendar'],
  },
]
