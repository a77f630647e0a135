/**
 * Decides what must leave the machine because of a batch, pure.
 *
 * Invariant: `outbound.queued` is in the batch of its cause, directly after it. So a crash leaves both or neither, and no fsync
 * is added. Its id depends on the agent, the seq of the cause and the target alone.
 */
import { clock, readableTime } from '../clock.js'
import { shellWord } from '../errors.js'
import { limits } from '../limits.js'
import { actorText } from '../schema/actors.js'
import { causeOf } from '../schema/reasons.js'
import type { RunError } from '../schema/types.js'
import type { NotifyEvent } from '../schema/words.js'
import { refillText } from './budget/caps.js'
import { stepAfterTurn, stepAtLimit } from './causes.js'
import { MISSED, SKIPPED } from './entries.js'
import { entriesAfter } from './fold/outbound.js'
import { deriveId } from './ids.js'
import type { NewRecord } from './records.js'
import type { Location, OutboundEntry, Run, State } from './state.js'
import { isTimed } from './status.js'
import { troubleOf } from './trouble.js'

/** Which events go to a target. */
interface OutboundRule {
  target: string
  /** `path`: of the agent. */
  covers(path: string, event: NotifyEvent): boolean
  /** How long it is tried to be sent. */
  lifetimeMs(event: NotifyEvent): number
}

export type OutboundRules = readonly OutboundRule[]

/** `textOf`: the text of a reply that an earlier batch has. */
export function withOutbound(
  before: State,
  records: NewRecord[],
  rules: OutboundRules,
  textOf: (reply: Location) => string,
): NewRecord[] {
  const all: NewRecord[] = []
  let pending = before.outbound ?? []
  const drop = (entry: OutboundEntry, reason: 'queue_full' | 'superseded', why: string): void => {
    const record = { kind: 'outbound.dropped' as const, outbound_id: entry.outbound_id, reason, why }
    pending = entriesAfter(pending, record)
    all.push(record)
  }
  for (const record of records) {
    const seq = before.last_seq + all.length + 1
    all.push(record)
    for (const entry of continuedBy(record, pending)) drop(entry, 'superseded', 'the turn was continued')
    const event = eventOf(before, record)
    if (event === undefined) continue
    for (const rule of rules.filter((each) => each.covers(before.path, event))) {
      // Each target has a queue of its own, so a slow one costs the others nothing.
      const queue = pending.filter(({ target }) => target === rule.target)
      const [oldest] = queue
      if (oldest !== undefined && queue.length >= limits.outboundMax)
        drop(oldest, 'queue_full', `${limits.outboundMax} newer messages are pending`)
      const queued: NewRecord<'outbound.queued'> = {
        kind: 'outbound.queued',
        outbound_id: deriveId(before.id, 'outbound', String(seq), rule.target),
        target: rule.target,
        event,
        ...('run_id' in record ? { run_id: record.run_id as string } : {}),
        content: textOfEvent(before, records, record, textOf),
        expires_at: new Date(clock.now() + rule.lifetimeMs(event)).toISOString(),
      }
      all.push(queued)
      pending = [...pending, placeless(queued)]
    }
  }
  return all
}

/** An entry of this batch, for the count. No place in the log is needed for that. */
function placeless({ outbound_id, target, event }: NewRecord<'outbound.queued'>): OutboundEntry {
  const at = { seq: 0, offset: 0, end: 0 }
  const waits = { attempts: 0, not_before: null, clock: null, expires_at: null }
  return { outbound_id, target, thread: null, event, run_id: null, at, ...waits }
}

/** The pending reports that a turn was interrupted, once it continues: its end will be reported. */
function continuedBy(record: NewRecord, pending: OutboundEntry[]): OutboundEntry[] {
  if (record.kind !== 'run.started' || record.continues === undefined) return []
  return pending.filter(({ event, run_id }) => event === 'interrupted' && run_id === record.continues)
}

function eventOf({ run }: State, record: NewRecord): NotifyEvent | undefined {
  switch (record.kind) {
    case 'run.waiting':
      // A rotated token begins no new wait.
      if (run?.run_id === record.run_id && run.wait !== null) return undefined
      return isTimed({ kind: record.wait, not_before: record.not_before ?? null }) ? 'limited' : 'waiting'
    case 'run.failed':
    case 'turn.refused':
      return 'failed'
    case 'run.cancelled':
      // No person and no agent stopped it. Other reasons are decisions of people or agents.
      return record.reason === 'turn_timeout' ? 'failed' : undefined
    case 'run.interrupted':
      return 'interrupted'
    case 'run.completed':
      return 'completed'
    case 'schedule.missed':
      return 'missed'
    case 'schedule.skipped':
      // A person decided about the others.
      return record.why === 'overlap' || record.why === 'budget' ? 'missed' : undefined
    default:
      return undefined
  }
}

/** A sentence and the next command to run, or the reply. */
function textOfEvent(
  state: State,
  records: NewRecord[],
  record: NewRecord,
  textOf: (reply: Location) => string,
): string {
  const { path, run } = state
  const word = shellWord(path)
  const stepAfter = (status: Run['status'], error: RunError | null, reason: Run['reason'] = null): string =>
    stepAfterTurn({ status, error, reason, hasLaunched: run?.hasLaunched === true }, path)?.sentence ?? ''
  switch (record.kind) {
    case 'run.waiting':
      return bounded(record.wait === 'not_before' ? limitText(path, record) : waitText(path, record))
    case 'run.failed':
      return bounded(
        `The turn of ${path} failed: ${causeOf(record.error)}.`,
        stepAfter('failed', record.error),
      )
    case 'turn.refused':
      return bounded(`A turn of ${path} was refused: ${record.message}`, `substrat show ${word}`)
    case 'run.cancelled':
      return bounded(
        `The turn of ${path} was stopped: ${troubleOf({ error: null, reason: record.reason })}.`,
        stepAfter('cancelled', null, record.reason),
      )
    case 'run.interrupted': {
      const { reason, error = null, actor } = record
      const why = troubleOf({ error, reason }) ?? 'the cause is unknown'
      const by = actor === undefined ? '' : `, by ${actorText(actor)}`
      return bounded(`The turn of ${path} was interrupted: ${why}${by}.`, `substrat show ${word}`)
    }
    case 'schedule.missed':
    case 'schedule.skipped': {
      const { name, count, from, to, why } = record
      const times = count === 1 ? readableTime(from) : `${readableTime(from)} to ${readableTime(to)}`
      const cause = { ...SKIPPED, ...MISSED }[why]
      return bounded(
        `${path} missed ${count === 1 ? 'a slot' : `${count} slots`} of its schedule ${name} (${times}): ${cause}.`,
        `substrat schedule show ${word} ${shellWord(name)}`,
      )
    }
    default: {
      const said = records.findLast((each) => each.kind === 'message.agent')?.content
      const reply = said ?? (run?.reply == null ? '' : textOf(run.reply))
      return bounded(`${path} completed its turn.`, typeof reply === 'string' ? reply : '')
    }
  }
}

function limitText(path: string, { not_before, why }: NewRecord<'run.waiting'>): string {
  const cause = `${path} is rate limited${why === undefined ? '' : `: ${why}`}.`
  return not_before === undefined ? cause : `${cause}\n${stepAtLimit(path, not_before, false).sentence}`
}

/** The calls or the question, and the command that decides. */
function waitText(path: string, { wait, asks = [], why = '', not_before }: NewRecord<'run.waiting'>): string {
  const calls = asks.map(({ tool, input }) => `${tool} ${JSON.stringify(input)}\n`).join('')
  const word = shellWord(path)
  switch (wait) {
    case 'approval':
      return `${path} waits for approval.\n${calls}substrat approve ${word}`
    case 'input':
      return `${path} asks a question.\n${calls}substrat answer ${word} '…'`
    case 'budget':
      return `${path} waits for a larger budget: ${why}; ${refillText(not_before ?? null)}.\nsubstrat show ${word}`
    default:
      return `${path} waits for a result.\n${calls}substrat show ${word}`
  }
}

function bounded(...lines: string[]): string {
  const text = lines.filter((line) => line !== '').join('\n')
  const { notificationCharactersMax: max } = limits
  if (text.length <= max) return text
  // A surrogate pair stays whole.
  const end = /[\ud800-\udbff]$/.test(text.slice(0, max - 1)) ? max - 2 : max - 1
  return `${text.slice(0, end)}…`
}
