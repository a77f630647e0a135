/** `schedule list` and `schedule show`: take no lock and write nothing. */
import { withUtcTimes } from '../../clock.js'
import { missingLog } from '../../dispatch/read-state.js'
import { listedSchedule, scheduleNamed } from '../../dispatch/schedule-view.js'
import { tickerTrouble } from '../../dispatch/ticker.js'
import { isAhead, slotAfter } from '../../schedule/calendar.js'
import { nowIso } from '../../schedule/due.js'
import type { OneSchedule, SchedulesView } from '../../schema/output-schedule.js'
import { peekState } from '../../session/peek-state.js'
import type { State } from '../../session/state.js'
import type { Store } from '../../storage/store.js'

/** `agentId`: only of this agent. Undefined: of all that are not terminated. */
export function listSchedules(store: Store | undefined, agentId: string | undefined): SchedulesView {
  if (store === undefined) return { schedules: [] }
  const ids = agentId === undefined ? store.agentIds() : [agentId]
  const states = ids
    .flatMap((id) => peekState(store, id) ?? [])
    .filter(({ id, state }) => id === agentId || state !== 'terminated')
    .sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
  const ticker = tickerTrouble(store, states)
  return {
    ...(ticker === undefined ? {} : { ticker: withUtcTimes(`${ticker.detail}; ${ticker.next}`) }),
    schedules: states.flatMap((state) =>
      (state.schedules ?? []).map((schedule) => listedSchedule(store, state, schedule)),
    ),
  }
}

const UPCOMING_SLOTS = 5

export function showSchedule(store: Store, agentId: string, word: string): OneSchedule {
  const state = peekState(store, agentId)
  if (state === undefined) throw missingLog(store, agentId)
  return oneSchedule(store, state, word)
}

function oneSchedule(store: Store, state: State, word: string): OneSchedule {
  const schedule = scheduleNamed(state, word)
  const listed = listedSchedule(store, state, schedule)
  const { next_at } = listed
  const upcoming: string[] = []
  for (let at = next_at; at !== null && upcoming.length < UPCOMING_SLOTS; at = slotAfter(schedule, at))
    upcoming.push(at)
  return { ...listed, upcoming, is_ahead: next_at !== null && isAhead(schedule, nowIso()) }
}
