/** Schedules as the commands show them. */

import { SubstratError } from '../errors.js'
import { nextDueTime } from '../schedule/due.js'
import type { ListedSchedule, ScheduleView } from '../schema/output-schedule.js'
import { readText } from '../session/read.js'
import type { Schedule, State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { wordOf } from './outcome.js'

export function viewSchedules(store: Store, state: State): ScheduleView[] {
  return (state.schedules ?? []).map((schedule) => viewSchedule(store, state, schedule))
}

export function listedSchedule(store: Store, state: State, schedule: Schedule): ListedSchedule {
  const { id: agent, path, hold, gate } = state
  const prevented = hold ? 'hold' : gate.isGated && gate.permits === 0 ? 'gated' : null
  return { ...viewSchedule(store, state, schedule), agent, path, prevented }
}

function viewSchedule(store: Store, state: State, schedule: Schedule): ScheduleView {
  const { schedule_id, name, when, calendar, time_zone, content, missed, overlap } = schedule
  const { until, jitter_ms, set_at, next_at, recent } = schedule
  const isOver = next_at === null || state.state === 'terminated'
  return {
    ...{ schedule_id, name, when, calendar, time_zone, content: readText(store, state.id, content) },
    ...{ missed, overlap, until, jitter_ms, set_at, recent },
    state: isOver ? 'ended' : schedule.paused_at === null ? 'active' : 'paused',
    next_at: isOver ? null : next_at,
    due_at: isOver ? null : nextDueTime(schedule),
  }
}

/** By its name or id. Throws USAGE. */
export function scheduleNamed(state: State, word: string): Schedule {
  const { schedules = [] } = state
  const found = schedules.find(({ name, schedule_id }) => name === word || schedule_id === word)
  if (found !== undefined) return found
  const names = schedules.map(({ name }) => name).join(', ')
  throw new SubstratError('USAGE', `${state.path} has no schedule ${JSON.stringify(word)}`, {
    hint:
      names === ''
        ? 'set one; for how, see: substrat schedule add --help'
        : `name one of ${names}: substrat schedule list ${wordOf(state)}`,
    facts: { agent_id: state.id },
  })
}
