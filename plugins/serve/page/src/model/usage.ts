/** Usage rows as the points of a plot. */
import type { UsageRow } from '../api/types.js'

export interface Day {
  /** Such as `2026-11-23`, in UTC. */
  day: string
  input: number
  output: number
}

const DAY_MS = 86_400_000
const DAYS_MAX = 366

/** Every day of the period, also those without usage. Without a number of days: from the first day with usage on. */
export function daysOf(rows: readonly UsageRow[], days: number, now: Date): Day[] {
  const known = new Map(rows.map((row) => [row.day ?? '', row]))
  const today = Date.parse(now.toISOString().slice(0, 10))
  const first = rows[0]?.day === undefined ? today : Date.parse(rows[0].day)
  const count = days === 0 ? Math.min(DAYS_MAX, Math.max(7, (today - first) / DAY_MS + 1)) : days
  return Array.from({ length: count }, (_, index) => {
    const day = new Date(today - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10)
    const row = known.get(day)
    return { day, input: row?.input_tokens ?? 0, output: row?.output_tokens ?? 0 }
  })
}

/** The next of 1, 2, 4, 6, 8, 10, 20, …: a quarter of it is a short number too. */
export function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 4, 6, 8, 10].find((factor) => factor * power >= value) ?? 10
  return Math.max(4, step * power)
}
