/** Reads what a person writes: `every 15m`, or a cron expression of five fields, and a time zone. */
import { closest } from '../closest.js'
import { SubstratError } from '../errors.js'
import { type Calendar, slotAfter } from './calendar.js'

/** The slots that are compared for the shortest time between two of them. */
const COMPARED_SLOTS = 100

export interface When extends Calendar {
  first: string
  everyMs: number
}

/** `line`: the command to type, with another WHEN, or without `--until`. Throws USAGE. */
export function parseWhen(
  when: string,
  {
    zone,
    from,
    until,
    line,
  }: { zone: string; from: string; until: string | null; line(when: string, isUnbounded?: boolean): string },
): When {
  const calendar = calendarOf(when.trim(), line)
  const schedule = { calendar, time_zone: zone, until: null }
  let first: string | null
  try {
    first = slotAfter(schedule, from)
  } catch (error) {
    throw new SubstratError(
      'USAGE',
      `${JSON.stringify(when)} is not a calendar: ${reasonOf(error as Error)}`,
      {
        hint: `use the fields minute, hour, day, month and weekday: ${line('0 7 * * *')}`,
      },
    )
  }
  if (first === null)
    throw new SubstratError('USAGE', `${JSON.stringify(when)} never matches: no month has such a day`, {
      hint: `use L for the last day of a month: ${line('0 7 L * *')}`,
    })
  if (until !== null && first > until)
    throw new SubstratError(
      'USAGE',
      `the first slot of ${JSON.stringify(when)}, ${first}, is after --until`,
      {
        hint: `leave out --until: ${line(when, true)}`,
      },
    )
  return { calendar, time_zone: zone, first, everyMs: shortestGap(schedule, first) }
}

function calendarOf(when: string, line: (when: string) => string): string {
  const every = /^every\s+(\d+)\s*(m|h|d)$/.exec(when)
  if (every !== null) return everyOf(when, Number(every[1]), every[2] as keyof typeof UNITS, line)
  const fields = when.split(/\s+/)
  if (fields.length !== 5 || when === '')
    throw new SubstratError(
      'USAGE',
      `${JSON.stringify(when)} is neither an interval nor five fields of cron`,
      {
        hint: `name an interval: ${line('every 1h')}; or a calendar: ${line('0 7 * * *')}`,
      },
    )
  return fields.join(' ')
}

/** An interval follows the clock: `every 15m` is at minute 0, 15, 30 and 45. So it must divide the next unit. */
const UNITS = {
  m: { all: 60, next: 'an hour', name: 'minutes' },
  h: { all: 24, next: 'a day', name: 'hours' },
  d: { all: 2, next: 'two days', name: 'days' },
} as const

function everyOf(
  when: string,
  count: number,
  unit: keyof typeof UNITS,
  line: (when: string) => string,
): string {
  const { all, next, name } = UNITS[unit]
  if (count === 0 || count >= all || all % count !== 0) {
    const counts = Array.from({ length: all - 1 }, (_, index) => index + 1).filter((each) => all % each === 0)
    const nearest = counts.reduce((best, each) =>
      Math.abs(each - count) < Math.abs(best - count) ? each : best,
    )
    const other =
      unit === 'm' && count >= 45 ? 'every 1h' : unit === 'h' && count >= 18 ? 'every 1d' : undefined
    const why = unit === 'd' ? 'days are counted only one by one' : `${count} ${name} do not divide ${next}`
    throw new SubstratError('USAGE', `${JSON.stringify(when)} has no fixed times: ${why}`, {
      hint: `use ${counts.map((each) => `${each}${unit}`).join(', ')}: ${line(other ?? `every ${nearest}${unit}`)}${unit === 'd' ? `; or name the days: ${line('0 7 * * MON')}` : ''}`,
    })
  }
  const step = count === 1 ? '*' : `*/${count}`
  return unit === 'm' ? `${step} * * * *` : unit === 'h' ? `0 ${step} * * *` : '0 0 * * *'
}

function reasonOf({ message }: Error): string {
  return message.replace(/^Cron\w+: /, '').replace(/\.$/, '')
}

function shortestGap(schedule: Parameters<typeof slotAfter>[0], first: string): number {
  let shortest = Number.MAX_SAFE_INTEGER
  let before = first
  for (let count = 1; count < COMPARED_SLOTS; count++) {
    const next = slotAfter(schedule, before)
    if (next === null) break
    shortest = Math.min(shortest, Date.parse(next) - Date.parse(before))
    before = next
  }
  return shortest
}

/** The zone as its database spells it. Undefined: that of the machine. Throws USAGE. */
export function parseZone(zone: string | undefined, line: (zone: string) => string): string {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC'
  if (zone === undefined) return own
  try {
    // Node takes an offset too, which has no daylight saving time and other rules in other versions.
    if (/^[A-Za-z]/.test(zone))
      return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone
  } catch {
    // Reported below, like an offset.
  }
  const known = closest(zone, [...Intl.supportedValuesOf('timeZone'), 'UTC']) ?? own
  throw new SubstratError('USAGE', `there is no time zone ${JSON.stringify(zone)}`, {
    hint: `name one such as ${known}: ${line(known)}`,
  })
}
