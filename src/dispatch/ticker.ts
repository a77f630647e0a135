/** Notices that no timer runs `deliver --all` or `recover --all`, the commands that begin the due turns of schedules. */
import { clock, readableTime } from '../clock.js'
import { shellWord } from '../errors.js'
import { nowIso } from '../schedule/due.js'
import type { Schedule, State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { wordOf } from './outcome.js'

/** Beyond the shortest schedule: cron needs some seconds each minute. */
const MARGIN_MS = 60_000

/** A home without schedules pays one look for a file. */
export function markTick(store: Store): void {
  if (store.visits.lastTick !== undefined) store.visits.markTick(nowIso())
}

/** Call it where a schedule comes into the home: a tick counts from here. */
export function beginTicks(store: Store): void {
  if (store.visits.lastTick === undefined) store.visits.markTick(nowIso())
}

/** For an import: the schedules are old, but this home has them only from now on. */
export function restartTicks(store: Store): void {
  store.visits.markTick(nowIso())
}

const SET_TIMER =
  'run one: substrat deliver --all; or set a timer: (crontab -l; substrat units cron) | crontab -'

export interface TickerTrouble {
  detail: string
  /** The commands to run. */
  next: string
  /** A clock that was ahead, not a missing command. Nothing is wrong with the home then. */
  isAhead?: true
}

/** Why slots of these agents are late: no such command ran for longer than the shortest schedule, or the clock was ahead. */
export function tickerTrouble(store: Store, states: State[]): TickerTrouble | undefined {
  const now = nowIso()
  const active = states.flatMap((state) =>
    state.state === 'terminated' ? [] : (state.schedules ?? []).filter(isActive),
  )
  if (active.length === 0) return undefined
  const shortestMs = Math.min(...active.map(({ every_ms }) => every_ms))
  const { lastTick } = store.visits
  // Another host of the home may be ahead by some seconds.
  const latestNow = new Date(clock.now() + MARGIN_MS).toISOString()
  if (lastTick !== undefined && lastTick > latestNow)
    return {
      detail: `schedules may be late: the last deliver --all ran at ${readableTime(lastTick)}, and the clock was set back since`,
      next: SET_TIMER,
    }
  const firstSet = active.map(({ set_at }) => set_at).sort()[0] ?? now
  const since = lastTick ?? firstSet
  if (clock.now() - Date.parse(since) > shortestMs + MARGIN_MS)
    return {
      detail: `schedules are late: no deliver --all has run since ${readableTime(since)}`,
      next: SET_TIMER,
    }
  return aheadTrouble(states, latestNow)
}

/** Slots in the future are accounted for. Found without the calendar, which lists do not load. */
function aheadTrouble(
  states: Parameters<typeof tickerTrouble>[1],
  latestNow: string,
): TickerTrouble | undefined {
  for (const state of states) {
    if (state.state === 'terminated') continue
    for (const schedule of state.schedules ?? []) {
      const last = schedule.recent.at(-1)
      if (!isActive(schedule) || last === undefined || last.to <= latestNow) continue
      const next_at = readableTime(schedule.next_at as string)
      return {
        detail: `schedule ${schedule.name} of ${state.path} has no slot until ${next_at}: the clock was ahead, and the slots before are accounted for`,
        next: `see it: substrat schedule show ${wordOf(state)} ${shellWord(schedule.name)}`,
        isAhead: true,
      }
    }
  }
  return undefined
}

function isActive({ next_at, paused_at }: Schedule): boolean {
  return next_at !== null && paused_at === null
}
