/** The output of `list` at a terminal. */
import { clock, readableTime, withReadableTimes, zoneAt } from '../../clock.js'
import { missedCount } from '../../dispatch/missed.js'
import type { ShownAgent } from '../../schema/output.js'
import type { ListedAgent } from '../../schema/output-overview.js'
import { type ShownStatus, wordOfStatus } from '../../schema/words.js'
import { oneLine } from '../output.js'
import { shareLeft } from './budget-text.js'
import { displayWidth, fitted, paddedTo } from './width.js'

export interface ListSize {
  columns: number
  /** More rows are only counted. */
  rowsMax?: number | undefined
}

/** Reading the message of each of very many agents would take longer than the list itself. */
const QUOTED_MAX = 200

export function listText(
  rows: ListedAgent[],
  shownOf: (agent: ListedAgent) => ShownAgent | undefined,
  { columns, rowsMax = rows.length }: ListSize,
): string {
  const shown = rows.slice(0, rowsMax)
  const now = clock.now()
  const head = ['STATUS', 'AGENT', 'CHANGED', 'ABOUT']
  const cells = shown.map((agent) => [
    wordOfStatus(agent.shown_status),
    nameOf(agent),
    'updated_at' in agent ? agoText(agent.updated_at, now) : '?',
  ])
  const [statusWidth = 0, widest = 0] = [0, 1].map((column) =>
    [head, ...cells].reduce((most, row) => Math.max(most, displayWidth(row[column] as string)), 0),
  )
  // As wide as any age, so that the columns do not move as time passes.
  const changedWidth = 'Fri 10:05'.length + zoneAt(new Date(now)).length
  // A long path leaves room for the words of the message.
  const nameWidth = Math.max(5, Math.min(widest, Math.floor(columns / 3)))
  const aboutWidth = columns - statusWidth - nameWidth - changedWidth - 6
  const line = ([status, name, changed]: string[], about: string): string =>
    [
      paddedTo(status as string, statusWidth),
      paddedTo(fitted(name as string, nameWidth), nameWidth),
      paddedTo(changed as string, changedWidth),
      aboutWidth < 8 ? '' : fitted(about, aboutWidth),
    ]
      .join('  ')
      .trimEnd()
  const lines = shown.map((row, index) => {
    const about = index < QUOTED_MAX ? aboutText(row, shownOf(row)) : ''
    return line(cells[index] as string[], about)
  })
  const more = rows.length - shown.length
  return [line(head, 'ABOUT'), ...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

/** The same text with each status in its colour. */
export function paintedList(text: string, rows: ListedAgent[]): string {
  const [head, ...lines] = text.split('\n')
  return [head, ...lines.map((line, index) => painted(line, rows[index]?.shown_status))].join('\n')
}

function painted(line: string, status: ShownStatus | undefined): string {
  const colour = status === undefined ? undefined : COLOURS[status]
  if (status === undefined || colour === undefined) return line
  const word = wordOfStatus(status)
  return `\u001b[${colour}m${word}\u001b[0m${line.slice(word.length)}`
}

/** Red has gone wrong, yellow waits for a person or a command, green works. Any other status stays as it is. */
const COLOURS: Partial<Record<ShownStatus, number>> = {
  failed: 31,
  timed_out: 31,
  refused: 31,
  corrupt: 31,
  waiting: 33,
  interrupted: 33,
  held: 33,
  gated: 33,
  running: 32,
  terminated: 2,
}

/** A name is short enough to type; an agent without one has the beginning of its id, which commands also accept. */
function nameOf(agent: ListedAgent): string {
  const name = agent.path ?? agent.id
  return oneLine(name === agent.id ? agent.id.slice(0, 8) : name)
}

function aboutText(agent: ListedAgent, shown: ShownAgent | undefined): string {
  if ('error' in agent) return oneLine(agent.error.message)
  const missed = missedCount(agent.refused ?? [])
  const until = agent.shown_status === 'limited' ? shown?.wait?.not_before : undefined
  const preview = until == null ? shown?.preview : `until ${readableTime(until)}: ${shown?.preview}`
  const text = agent.stopped === true ? withReadableTimes(preview ?? '') : (agent.title ?? preview ?? '')
  const left = shareLeft(agent.budget)
  const remarks = [missed === null ? '' : `${missed} not delivered`, left].filter(Boolean).join(', ')
  return oneLine(remarks === '' ? text : `(${remarks}) ${text}`)
}

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** `12 s ago`, `5 min ago`, `3 h ago`; after a day the weekday and time with its zone, after a week the date, in local time. */
function agoText(iso: string, now: number): string {
  const at = new Date(iso)
  const ms = Math.max(0, now - at.getTime())
  if (ms < MINUTE) return `${Math.floor(ms / 1000)} s ago`
  if (ms < 60 * MINUTE) return `${Math.floor(ms / MINUTE)} min ago`
  if (ms < DAY) return `${Math.floor(ms / (60 * MINUTE))} h ago`
  const two = (count: number): string => String(count).padStart(2, '0')
  if (ms < 7 * DAY)
    return `${WEEKDAYS[at.getDay()]} ${two(at.getHours())}:${two(at.getMinutes())}${zoneAt(at)}`
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
