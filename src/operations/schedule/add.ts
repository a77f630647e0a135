/**
 * `schedule add`. Repeating the command changes nothing; with other values it replaces the schedule of that name under a new id.
 *
 * On disk after a crash: the old schedule, or the new one. Both are one record.
 */
import { checkReach } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { wordOf } from '../../dispatch/outcome.js'
import { listedSchedule } from '../../dispatch/schedule-view.js'
import { beginTicks } from '../../dispatch/ticker.js'
import { visit } from '../../dispatch/visit.js'
import { SessionStateError, SubstratError, shellWord } from '../../errors.js'
import { CHANNEL } from '../../format.js'
import { limits } from '../../limits.js'
import { isAhead } from '../../schedule/calendar.js'
import { nowIso } from '../../schedule/due.js'
import { parseWhen, parseZone, type When } from '../../schedule/when.js'
import type { ChangedSchedule } from '../../schema/output-schedule.js'
import type { NewRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { Schedule, State } from '../../session/state.js'
import { howEnded } from '../../session/status.js'
import { randomUuid } from '../../start/random.js'

export interface NewSchedule extends Pick<Schedule, 'when' | 'missed' | 'overlap' | 'until' | 'jitter_ms'> {
  content: string
  /** Undefined: the first free number. */
  name: string | undefined
  /** Undefined: the zone of this machine. */
  zone: string | undefined
  /** If the user wrote a duration for `until`. */
  until_after_ms?: number | undefined
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

export async function addSchedule(
  ctx: Context,
  agentId: string,
  given: NewSchedule,
): Promise<ChangedSchedule> {
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    const { state } = session
    refuseClosed(state)
    const wanted = withUntil(given)
    const before = (state.schedules ?? []).find(({ name }) => name === wanted.name)
    const read = readNew(state, wanted, before)
    const same = (state.schedules ?? []).find((each) => isSame(session, each, wanted, read))
    if (same === undefined) {
      if (before === undefined) refuseMore(state)
      beginTicks(ctx.store)
      const set = recordOf(state, wanted, read, before)
      const { schedule_id, name } = set
      const isPaused = before !== undefined && before.paused_at !== null
      session.append([set, ...(isPaused ? [{ kind: 'schedule.paused' as const, schedule_id, name }] : [])])
    }
    const set = same ?? (session.state.schedules?.at(-1) as Schedule)
    return {
      schedule: listedSchedule(ctx.store, session.state, set),
      changed: same === undefined,
      replaced: same === undefined ? (before?.schedule_id ?? null) : null,
    }
  })
}

/** After a clock that was ahead, the slots up to the next one of the replaced schedule are accounted for. */
function firstTime(before: Schedule | undefined): string {
  const now = nowIso()
  const next_at = before?.next_at ?? null
  if (before === undefined || next_at === null || !isAhead(before, now)) return now
  return new Date(Date.parse(next_at) - 1).toISOString()
}

function readNew(state: State, wanted: NewSchedule, before: Schedule | undefined): When {
  const line = lineOf(state, wanted)
  const { when, name, zone, until, jitter_ms } = wanted
  if (name !== undefined && !NAME.test(name))
    throw new SubstratError('USAGE', `a schedule cannot have the name ${JSON.stringify(name)}`, {
      hint: `use 1 to 64 letters, digits, dots, dashes or underscores: ${line({ name: freeName(state, name) })}`,
    })
  const known = parseZone(zone, (other) => line({ zone: other }))
  const read = parseWhen(when, {
    ...{ zone: known, from: firstTime(before), until },
    line: (other, isUnbounded) => line(isUnbounded ? { when: other, until: null } : { when: other }),
  })
  if (jitter_ms >= read.everyMs)
    throw new SubstratError(
      'USAGE',
      `a jitter of ${jitter_ms / 1000} s is not shorter than the ${read.everyMs / 1000} s between two slots`,
      { hint: `use less: ${line({ jitter_ms: Math.max(1, Math.floor(read.everyMs / 2000)) * 1000 })}` },
    )
  return read
}

const QUOTED_MAX = 500

/** The command with other values, complete: each flag that the user gave is in it. */
function lineOf(state: State, wanted: NewSchedule): (other: Partial<NewSchedule>) => string {
  return (other) => {
    const { when, content, name, zone, missed, overlap, until, until_after_ms, jitter_ms } = {
      ...wanted,
      ...other,
    }
    const isQuoted = content.length <= QUOTED_MAX && !content.includes('\n')
    const end = until === null || until_after_ms == null ? until : `${until_after_ms / 1000}s`
    return [
      `substrat schedule add ${wordOf(state)} ${shellWord(when)} ${isQuoted ? shellWord(content) : '-'}`,
      ...(name === undefined ? [] : [`--name ${shellWord(name)}`]),
      ...(zone === undefined ? [] : [`--tz ${shellWord(zone)}`]),
      ...(missed === 'once' ? [] : [`--missed ${missed}`]),
      ...(overlap === 'skip' ? [] : [`--overlap ${overlap}`]),
      ...(end === null ? [] : [`--until ${end}`]),
      ...(jitter_ms === 0 ? [] : [`--jitter ${jitter_ms / 1000}s`]),
      ...(isQuoted ? [] : ['< message.txt']),
    ].join(' ')
  }
}

/** `my job` becomes my-job, or my-job-2 if a schedule has that name. */
function freeName({ schedules = [] }: State, name: string): string {
  const letters = name.replace(/[^\p{L}\p{N}_.-]+/gu, '-').replace(/^[^\p{L}\p{N}]+|-+$/gu, '')
  const base = [...letters].slice(0, 60).join('') || 'daily'
  let [free, number] = [base, 1]
  while (schedules.some((each) => each.name === free)) {
    number += 1
    free = `${base}-${number}`
  }
  return free
}

function recordOf(
  { schedules = [] }: State,
  { when, content, name, missed, overlap, until, jitter_ms }: NewSchedule,
  { calendar, time_zone, first, everyMs }: When,
  before: Schedule | undefined,
): NewRecord<'schedule.set'> {
  const names = new Set(schedules.map((each) => each.name))
  let number = 1
  while (names.has(String(number))) number += 1
  return {
    kind: 'schedule.set',
    schedule_id: randomUuid(),
    name: name ?? String(number),
    ...{ when, calendar, time_zone, content, next_at: first, every_ms: everyMs, missed, overlap },
    ...(until === null ? {} : { until }),
    ...(jitter_ms === 0 ? {} : { jitter_ms }),
    ...(before === undefined ? {} : { replaces: before.schedule_id }),
  }
}

/** Without a name, any schedule with these values counts: the command may repeat one that was killed. */
function isSame(session: Session, known: Schedule, wanted: NewSchedule, read: When): boolean {
  return (
    (wanted.name === undefined || wanted.name === known.name) &&
    known.calendar === read.calendar &&
    known.time_zone === read.time_zone &&
    known.missed === wanted.missed &&
    known.overlap === wanted.overlap &&
    isSameEnd(known, wanted) &&
    known.jitter_ms === wanted.jitter_ms &&
    session.text(known.content) === wanted.content
  )
}

/** From the clock that the record gets, so that a repeated command compares with `set_at`. */
function withUntil(wanted: NewSchedule): NewSchedule {
  const { until_after_ms } = wanted
  if (until_after_ms === undefined) return wanted
  return { ...wanted, until: new Date(Date.parse(nowIso()) + until_after_ms).toISOString() }
}

/** The steps between the two readings of the clock. */
const UNTIL_MARGIN_MS = 1000

function isSameEnd({ until, set_at, next_at }: Schedule, wanted: NewSchedule): boolean {
  const { until_after_ms } = wanted
  if (until_after_ms === undefined || until === null) return until === wanted.until
  const afterMs = Date.parse(until) - Date.parse(set_at)
  return next_at !== null && Math.abs(afterMs - until_after_ms) <= UNTIL_MARGIN_MS
}

function refuseMore(state: State): void {
  if ((state.schedules ?? []).length < limits.schedulesMax) return
  throw new SubstratError('QUEUE_FULL', `${state.path} has ${limits.schedulesMax} schedules already`, {
    hint: `remove one: substrat schedule remove ${wordOf(state)} ${shellWord(state.schedules?.[0]?.name ?? '')}`,
    facts: { agent_id: state.id },
  })
}

function refuseClosed(state: State): void {
  if (state.state === 'terminated')
    throw new SessionStateError(`${state.path} ${howEnded(state)} and takes no schedules`, {
      hint: 'start another agent: substrat spawn',
      facts: { agent_id: state.id },
    })
  if (state.provider_name === CHANNEL)
    throw new SessionStateError(`${state.path} is a channel, and channels have no turns`, {
      hint: 'name one of its agents: substrat list',
      facts: { agent_id: state.id },
    })
}
