/** Notices that no timer runs `deliver --all` or `recover --all`, the commands that begin the due turns of schedules. */
import { clock, readableTime } from '../clock.js'
import { nowIso } from '../schedule/due.js'
import type { Schedule, State } from '../session/state.js'
import type { Store } from '../storage/store.js'

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

export const SET_TIMER =
  'run one: substrat deliver --all; or set a timer: (crontab -l; substrat units cron) | crontab -'

/** A sentence if no such command has run for longer than the shortest schedule of these agents. */
export function tickerTrouble(
  store: Store,
  states: Pick<State, 'state' | 'schedules'>[],
): string | undefined {
  const active = states.flatMap(({ state, schedules = [] }) =>
    state === 'terminated' ? [] : schedules.filter(isActive),
  )
  if (active.length === 0) return undefined
  const shortestMs = Math.min(...active.map(({ every_ms }) => every_ms))
  const since = store.visits.lastTick ?? active.map(({ set_at }) => set_at).sort()[0] ?? nowIso()
  if (clock.now() - Date.parse(since) <= shortestMs + MARGIN_MS) return undefined
  return `schedules are late: no deliver --all has run since ${readableTime(since)}`
}

function isActive({ next_at, paused_at }: Schedule): boolean {
  return next_at !== null && paused_at === null
}
