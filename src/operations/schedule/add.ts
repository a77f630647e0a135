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
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

export async function addSchedule(
  ctx: Context,
  agentId: string,
  wanted: NewSchedule,
): Promise<ChangedSchedule> {
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    const { state } = session
    refuseClosed(state)
    const before = (state.schedules ?? []).find(({ name }) => name === wanted.name)
    const read = readNew(state, wanted, before)
    const same = (state.schedules ?? []).find((each) => isSame(session, each, wanted, read))
    if (same === undefined) {
      if (before === undefined) refuseMore(state)
      beginTicks(ctx.store)
      session.append([recordOf(state, wanted, read, before)])
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

function readNew(
  state: State,
  { when, content, name, zone, until, jitter_ms }: NewSchedule,
  before: Schedule | undefined,
): When {
  const word = wordOf(state)
  const message = content.length <= 80 && !content.includes('\n') ? shellWord(content) : "'…'"
  const flags = [
    ...(name === undefined ? [] : [`--name ${shellWord(name)}`]),
    ...(zone === undefined ? [] : [`--tz ${shellWord(zone)}`]),
  ].join(' ')
  const line = (calendar: string): string =>
    `substrat schedule add ${word} ${shellWord(calendar)} ${message}${flags === '' ? '' : ` ${flags}`}`
  if (name !== undefined && !NAME.test(name))
    throw new SubstratError('USAGE', `a schedule cannot have the name ${JSON.stringify(name)}`, {
      hint: `use 1 to 64 letters, digits, dots, dashes or underscores: substrat schedule add ${word} ${shellWord(when)} ${message} --name daily`,
    })
  const known = parseZone(
    zone,
    (other) => `substrat schedule add ${word} ${shellWord(when)} ${message} --tz ${other}`,
  )
  const read = parseWhen(when, { zone: known, from: firstTime(before), until, line })
  if (jitter_ms >= read.everyMs)
    throw new SubstratError(
      'USAGE',
      `a jitter of ${jitter_ms / 1000} s is not shorter than the ${read.everyMs / 1000} s between two slots`,
      { hint: `use less: ${line(when)} --jitter ${Math.max(1, Math.floor(read.everyMs / 2000))}s` },
    )
  return read
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
    known.until === wanted.until &&
    known.jitter_ms === wanted.jitter_ms &&
    session.text(known.content) === wanted.content
  )
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
