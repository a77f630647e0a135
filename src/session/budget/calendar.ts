/**
 * The windows of budgets: hours, days, ISO weeks and months of the calendar in one time zone.
 *
 * Invariant: the ids of one period compare as texts. An hour that a change of the clocks repeats is one window.
 */
import type { WindowIds } from '../../schema/budget.js'
import { BUDGET_PERIODS, type BudgetPeriod } from '../../schema/words.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The zone of the machine. Undefined if the machine does not name one. */
export function machineZone(): string | undefined {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions() as { timeZone?: string }
  return timeZone !== undefined && isZone(timeZone) ? timeZone : undefined
}

export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return zone !== ''
  } catch {
    return false
  }
}

export function windowId(period: BudgetPeriod, ms: number, zone: string): string {
  const { year, month, day, hour } = fieldsOf(ms, zone)
  const date = `${year}-${month}-${day}`
  switch (period) {
    case 'hour':
      return `${date}T${hour}`
    case 'day':
      return date
    case 'week':
      return weekOf(Date.parse(`${date}T00:00:00Z`))
    case 'month':
      return `${year}-${month}`
  }
}

/** `known`: the latest ids that a log or an account has. A clock that was set back does not go behind them. */
export function windowsNow(
  periods: Iterable<BudgetPeriod>,
  ms: number,
  zone: string,
  known: WindowIds = {},
): WindowIds {
  const ids: WindowIds = {}
  for (const period of periods) {
    const id = windowId(period, ms, zone)
    const before = known[period] ?? ''
    ids[period] = before > id ? before : id
  }
  return ids
}

export function isPeriod(word: string): word is BudgetPeriod {
  return BUDGET_PERIODS.some((period) => period === word)
}

/** When the window of that id has ended, in ms. The clock may be behind the window. */
export function endOfWindow(period: BudgetPeriod, id: string, ms: number, zone: string): number {
  let from = ms
  let stepMs = LENGTH_MS[period]
  while (windowId(period, from + stepMs, zone) <= id) {
    from += stepMs
    stepMs *= 2
  }
  let to = from + stepMs
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (windowId(period, middle, zone) <= id) from = middle
    else to = middle
  }
  return to
}

const LENGTH_MS: Record<BudgetPeriod, number> = {
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
}

const formats = new Map<string, Intl.DateTimeFormat>()

function fieldsOf(ms: number, zone: string): Record<'year' | 'month' | 'day' | 'hour', string> {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
    })
    formats.set(zone, format)
  }
  const parts = format.formatToParts(ms).map(({ type, value }) => [type, value] as const)
  return Object.fromEntries(parts) as Record<'year' | 'month' | 'day' | 'hour', string>
}

/** The ISO week of a day, given as the UTC midnight of its date: the year of its Thursday, and the week in it. */
function weekOf(midnight: number): string {
  const thursday = midnight + (3 - ((new Date(midnight).getUTCDay() + 6) % 7)) * DAY_MS
  const year = new Date(thursday).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * DAY_MS)) + 1
  return `${year}-W${String(week).padStart(2, '0')}`
}
