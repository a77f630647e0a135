/** The output of `schedule` without `--json`. */
import { readableTime } from '../../clock.js'
import type {
  ListedSchedule,
  OneSchedule,
  SchedulesView,
  ScheduleView,
} from '../../schema/output-schedule.js'
import { MISSED, SKIPPED } from '../../session/entries.js'
import { table } from './table.js'

export function schedulesTable({ schedules }: SchedulesView): string {
  if (schedules.length === 0) return 'no schedules (set one: substrat schedule add)'
  const head = ['AGENT', 'NAME', 'WHEN', 'ZONE', 'NEXT', 'LAST', 'MESSAGE']
  return table(head, schedules, (each) => [
    each.path,
    each.name,
    each.when,
    each.time_zone,
    nextText(each),
    lastText(each),
    firstWords(each.content),
  ])
}

export function scheduleText(shown: OneSchedule): string {
  const { name, path, schedule_id, when, calendar, time_zone, content, missed, overlap } = shown
  const { until, jitter_ms, set_at, upcoming, recent } = shown
  const lines: [string, string | null][] = [
    ['schedule', `${name} (${schedule_id}) of ${path}`],
    ['when', `${when}${calendar === when ? '' : ` (${calendar})`}, in ${time_zone}`],
    ['next', nextText(shown)],
    ...upcoming.slice(1).map((at): [string, string] => ['', readableTime(at)]),
    ['until', until === null ? null : readableTime(until)],
    ['jitter', jitter_ms === 0 ? null : `up to ${jitter_ms / 1000} s`],
    ['missed', missed],
    ['overlap', overlap],
    ['set', readableTime(set_at)],
    ...recent
      .toReversed()
      .map((slots, index): [string, string] => [index === 0 ? 'last slots' : '', slotsText(slots)]),
    ['message', content.replaceAll('\n', `\n${' '.repeat(13)}`)],
  ]
  return lines.flatMap(([label, text]) => (text === null ? [] : [`${label.padEnd(13)}${text}`])).join('\n')
}

/** `2026-11-20 07:00:00+01:00`, `paused`, or why its slots are skipped. */
export function nextText({
  state,
  next_at,
  prevented,
}: ScheduleView & Partial<Pick<ListedSchedule, 'prevented'>>): string {
  if (next_at === null) return 'no more'
  if (state === 'paused') return 'paused'
  if (prevented === 'gated') return 'none while gated'
  return prevented === 'hold' ? 'none while on hold' : readableTime(next_at)
}

export function lastText({ recent }: ScheduleView): string {
  const last = recent.at(-1)
  return last === undefined ? '' : slotsText(last)
}

function slotsText({ from, to, count, outcome, why, status }: ScheduleView['recent'][number]): string {
  const times =
    count === 1 ? readableTime(from) : `${count} from ${readableTime(from)} to ${readableTime(to)}`
  if (outcome === 'ran') return `${times} ${status === 'open' ? 'began' : status}`
  const words: Record<string, string> = { ...SKIPPED, ...MISSED }
  return `${times} ${outcome}: ${words[why ?? ''] ?? why}`
}

const WORDS_CHARACTERS_MAX = 40

function firstWords(text: string): string {
  const [line = ''] = text.split('\n')
  const isWhole = line.length === text.length && line.length <= WORDS_CHARACTERS_MAX
  return isWhole ? line : `${line.slice(0, WORDS_CHARACTERS_MAX)}…`
}
