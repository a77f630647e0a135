/**
 * Turns each record into an entry, the form in which people read it. `log`, `export`, `search`, the page, ACP and the seed of a
 * fork render entries. A record kind without a row does not compile.
 *
 * The page loads this module; it must stay free of zod and of Node.
 */
import { causeOf, WHY_STOPPED } from '../schema/reasons.js'
import type { Actor, Content } from '../schema/types.js'
import type { CheckFinding, MissedCause, SkipCause } from '../schema/words.js'
import type { RecordKind, SessionRecord } from './records.js'

export type Entry =
  | Of<'prompt', 'message.user', { sender: 'you' | 'substrat' }>
  /** With `call_id` it is the result of a call, which has an entry of its own. `sender` is undefined for an agent without a path. */
  | Of<'mail', 'mail.delivered', { sender: string | undefined }>
  | Of<'reply', 'message.agent'>
  | Of<'notice', 'message.notice', { sender: 'substrat' }>
  | Of<'request', 'model.requested', { process_group?: number }>
  | Of<'failed_request', 'model.failed', { why: string }>
  | Of<'response', 'model.responded'>
  /** A call of a response starts. */
  | Of<'call_start', 'tool.started'>
  /** A call of an agent program, which no response has. `isOwn`: the program has this tool itself. */
  | Of<'call', 'program.tool_started', { isOwn: boolean }>
  | Of<'edit', 'tool.edited'>
  | Of<'deferral', 'tool.deferred'>
  | Of<'result', 'program.tool_finished', { isOwn: boolean }>
  | Of<'note', 'program.note'>
  | Of<'output', 'program.output'>
  /** `how` it continues an earlier run. Undefined if it does not. */
  | Of<'turn', 'run.started', { how: string | undefined }>
  /** `how` is undefined after a decision, which has an entry of its own. */
  | Of<'resumption', 'run.resumed', { how: string | undefined }>
  | Of<'wait', 'run.waiting'>
  | Of<'decision', 'token.consumed'>
  | Of<'answer', 'wait.answered'>
  | Of<'expiry', 'token.expired'>
  | Of<'completion', 'run.completed'>
  | Of<'failure', 'run.failed', { why: string }>
  | Of<'stop', 'run.cancelled' | 'run.interrupted', { how: StopWord; why: string }>
  | Of<'creation', 'session.created'>
  | Of<'settings', 'session.configured', { text: string }>
  | Of<'seed', 'session.seeded'>
  | Of<'reminder', 'reminder.set'>
  | Of<'token', 'token.minted' | 'token.revoked', { text: string; expires_at?: string }>
  /** A change of the agent itself. `more`: the end of the sentence in `log`. */
  | Saying<'change', { text: string; more?: string; actor?: Actor | undefined }>
  /** Only `log` shows it. */
  | Saying<'detail' | 'trouble', { text: string; actor?: Actor | undefined }>
  /** Only programs need it, or another entry shows it. Its content can be searched. */
  | Saying<'hidden'>

type StopWord = 'timed out' | 'cancelled' | 'interrupted'

type Of<Type, Kind extends RecordKind, More = unknown> = { type: Type } & Fields<Kind> & More

type Fields<Kind extends RecordKind> = Omit<SessionRecord<Kind>, 'kind' | 'batch'>

type Saying<Type, More = unknown> = { type: Type; seq: number; ts: string; content?: Content } & More

export type EntryOf<Type extends Entry['type']> = Extract<Entry, { type: Type }>

export function entryOf(record: SessionRecord): Entry {
  // Readers from the end of a log, and of damaged logs, also find kinds of a later version.
  const row = (ENTRIES[record.kind] ?? hidden) as (record: SessionRecord) => Entry
  return row(record)
}

const ENTRIES: { [Kind in RecordKind]: (record: SessionRecord<Kind>) => Entry } = {
  ...without(
    'session.upgraded',
    'session.activated',
    'run.programs_gone',
    'clock.set_back',
    'status.derived',
  ),
  ...without(
    'budget.held',
    'provider.state',
    'prompt.assembled',
    'server.started',
    'server.kept',
    'server.stopped',
  ),
  ...without('mail.replied', 'mail.answered', 'channel.received', 'channel.cursor', 'channel.handled'),
  ...without('channel.taken', 'channel.announced', 'outbound.queued', 'outbound.attempted', 'outbound.sent'),
  ...without('outbound.failed', 'outbound.dropped', 'schedule.fired', 'schedule.ran_now'),
  'session.created': (record) => ({ type: 'creation', ...record }),
  'session.configured': (record) => ({ type: 'settings', text: settingsText(record), ...record }),
  'session.suspended': (record) => {
    if (record.reason === 'idle') return hidden(record)
    return record.reason === 'requested'
      ? { type: 'change', text: 'suspended on request', ...record }
      : detail(record, 'suspended by recovery')
  },
  'session.terminated': (record) => ({ type: 'change', text: 'terminated', ...record }),
  'session.imported': (record) =>
    detail(
      record,
      `copied from agent ${record.from} of another home or tree; the records above are the original's`,
    ),
  'session.moved': (record) => detail(record, `moved to ${record.to}`),
  'session.arrived': (record) => detail(record, 'arrived in this home, or taken back'),
  'session.rebuilt': (record) =>
    detail(
      record,
      `log rebuilt after damage, agent put on hold; the later records of the old log, up to ${record.last_seq}, are in ${record.kept}`,
    ),
  'session.seeded': (record) => ({ type: 'seed', ...record }),
  'run.started': (record) => ({ type: 'turn', how: record.continues && automatically(record), ...record }),
  'run.resumed': (record) => ({
    type: 'resumption',
    how: record.token_id === undefined ? automatically(record) : undefined,
    ...record,
  }),
  'run.waiting': (record) => ({ type: 'wait', ...record }),
  'run.completed': (record) => ({ type: 'completion', ...record }),
  'run.failed': (record) => ({ type: 'failure', why: causeOf(record.error), ...record }),
  'turn.refused': (record) => ({
    type: 'change',
    text: `turn refused${record.key === undefined ? '' : `, key ${record.key}`}: ${record.message}`,
    ...record,
  }),
  'run.cancelled': (record) => stop(record, record.reason === 'turn_timeout' ? 'timed out' : 'cancelled'),
  'run.interrupted': (record) => stop(record, 'interrupted'),
  'message.user': (record) => ({
    type: 'prompt',
    sender: record.origin === 'operator' ? 'you' : 'substrat',
    ...record,
  }),
  'message.notice': (record) => ({ type: 'notice', sender: 'substrat', ...record }),
  'message.agent': (record) => ({ type: 'reply', ...record }),
  'model.requested': (record) => ({ type: 'request', ...record }),
  'model.responded': (record) => ({ type: 'response', ...record }),
  'model.failed': (record) => ({ type: 'failed_request', why: causeOf(record.error), ...record }),
  'provider.started': (record) => ({ type: 'request', ...record }),
  'budget.granted': (record) =>
    detail(
      record,
      record.once === true
        ? 'no budget stops the rest of this turn'
        : `budget raised for this agent: ${grantedText(record.amounts)}`,
    ),
  'context.tried': (record) =>
    detail(
      record,
      `asking again with a shorter conversation: ${record.messages} messages ${record.how === 'summary' ? 'replaced by a summary' : 'left out'}`,
    ),
  'context.compacted': (record) => ({
    type: 'change',
    text: `conversation compacted: ${record.messages} messages`,
    more: record.how === 'summary' ? 'replaced by a summary' : 'dropped',
    ...record,
  }),
  'tool.started': (record) =>
    record.input === undefined && record.input_blob === undefined
      ? { type: 'call_start', ...record }
      : { type: 'call', isOwn: false, ...record },
  'tool.finished': (record) => ({ type: 'result', isOwn: false, ...record }),
  'tool.repeated': (record) =>
    detail(record, `the call of ${record.tool} that was cut short runs again, attempt ${record.attempt}`),
  'tool.check_started': (record) =>
    detail(record, `checking whether the call of ${record.tool} was done: ${record.command}`),
  'tool.checked': (record) => detail(record, CHECKED[record.found]),
  'tool.edited': (record) => ({ type: 'edit', ...record }),
  'tool.deferred': (record) => ({ type: 'deferral', ...record }),
  'program.tool_started': (record) => ({ type: 'call', isOwn: true, ...record }),
  'program.tool_finished': (record) => ({ type: 'result', isOwn: true, ...record }),
  'program.note': (record) => ({ type: 'note', ...record }),
  'program.output': (record) => ({ type: 'output', ...record }),
  'server.failed': (record) => {
    const text = `tool server ${record.server} did not start: ${record.why}`
    return { type: 'trouble', text, ...record }
  },
  'token.minted': (record) => ({ type: 'token', text: `token ${short(record.token_id)} created`, ...record }),
  'token.consumed': (record) => ({ type: 'decision', ...record }),
  'token.revoked': (record) => ({
    type: 'token',
    text: `token ${short(record.token_id)} revoked: ${record.reason}`,
    ...record,
  }),
  'token.expired': (record) => ({ type: 'expiry', ...record }),
  'wait.answered': (record) => ({ type: 'answer', ...record }),
  'mail.delivered': (record) => ({ type: 'mail', sender: senderOf(record), ...record }),
  'reminder.set': (record) => ({ type: 'reminder', ...record }),
  'reminder.cancelled': (record) => detail(record, `reminder ${short(record.reminder_id)} cancelled`),
  'schedule.set': (record) => scheduled(record, `set: ${record.when}, in ${record.time_zone}`),
  'schedule.skipped': (record) => scheduled(record, `${slots(record)} skipped: ${SKIPPED[record.why]}`),
  'schedule.missed': (record) => scheduled(record, `${slots(record)} missed: ${MISSED[record.why]}`),
  'schedule.paused': (record) => scheduled(record, 'paused'),
  'schedule.resumed': (record) => scheduled(record, 'resumed'),
  'schedule.removed': (record) => scheduled(record, 'removed'),
  'agent.gated': (record) => ({ type: 'change', text: 'gated', more: by(record.from), ...record }),
  'agent.ungated': (record) => ({ type: 'change', text: 'ungated', more: by(record.from), ...record }),
  'agent.permitted': (record) => detail(record, `one turn permitted${bySender(record)}`),
  'agent.poked': (record) => detail(record, `retry requested${bySender(record)}`),
  'agent.watched': (record) =>
    detail(record, `watched ${by(record.from)} for ${record.on.join(', ')}${record.once ? ' (once)' : ''}`),
  'agent.unwatched': (record) => detail(record, `no longer watched ${by(record.from)}`),
}

/** Rows of kinds that people do not read. */
function without<Kind extends RecordKind>(...kinds: Kind[]): Record<Kind, typeof hidden> {
  return Object.fromEntries(kinds.map((kind) => [kind, hidden])) as Record<Kind, typeof hidden>
}

/** Why a slot has no turn, for people. */
export const SKIPPED: Record<SkipCause, string> = {
  overlap: 'the turn of an earlier slot was not over',
  paused: 'the schedule was paused',
  gated: 'the agent was gated',
  hold: 'the agent was on hold',
  budget: 'the budget was used up',
  terminated: 'the agent was terminated',
  removed: 'the schedule was removed',
  replaced: 'the schedule was replaced',
}

export const MISSED: Record<MissedCause, string> = {
  late: 'no command came in time',
  busy: 'an earlier turn was not over',
  refused: 'no turn could begin',
}

function grantedText(amounts: object = {}): string {
  return Object.entries(amounts)
    .map(([unit, amount]) => `${amount} ${unit}`)
    .join(', ')
}

const CHECKED: Record<CheckFinding, string> = {
  done: 'the check found that the call was done',
  not_done: 'the check found that the call was not done',
  unknown: 'the check could not tell whether the call was done',
}

function hidden(record: SessionRecord): Entry {
  return { type: 'hidden', ...record }
}

function detail(record: SessionRecord, text: string): Entry {
  return { type: 'detail', text, ...record }
}

function stop(record: SessionRecord<'run.cancelled' | 'run.interrupted'>, how: StopWord): Entry {
  return { type: 'stop', how, why: WHY_STOPPED[record.reason], ...record }
}

function scheduled(record: SessionRecord & { name: string }, what: string): Entry {
  const { name, ...rest } = record
  return { type: 'change', text: `schedule ${name}: ${what}`, ...rest } as Entry
}

function slots({ count }: { count: number }): string {
  return count === 1 ? '1 slot' : `${count} slots`
}

function automatically({ auto, attempt }: { auto?: boolean | undefined; attempt?: number }): string {
  return auto === true ? ` automatically${attempt === undefined ? '' : `, attempt ${attempt}`}` : ''
}

/** The actor says more. */
function bySender({ from, actor }: { from: string; actor?: Actor | undefined }): string {
  return actor === undefined ? ` ${by(from)}` : ''
}

function by(from: string): string {
  return `by ${from === 'operator' ? 'you' : short(from)}`
}

function short(id: string): string {
  return id.slice(0, 8)
}

function senderOf(record: SessionRecord<'mail.delivered'>): string | undefined {
  const { from, from_path, reminder_id, schedule_id } = record
  if (reminder_id !== undefined) return 'reminder'
  if (schedule_id !== undefined) return `schedule ${from_path ?? short(schedule_id)}`
  return from === 'operator' ? 'you' : from_path
}

function settingsText(record: SessionRecord<'session.configured'>): string {
  const { hold, metadata, forgets_refusals } = record
  if (forgets_refusals === true) return 'refused messages forgotten'
  if (hold !== undefined) return hold ? 'put on hold' : 'no longer on hold'
  if (metadata === undefined)
    return `changed: ${Object.keys(record)
      .filter((field) => !PLACE_FIELDS.has(field))
      .join(', ')}`
  const changes = Object.entries(metadata).map(([name, value]) => `${name}=${value ?? '(removed)'}`)
  return `metadata changed: ${changes.join(', ')}`
}

const PLACE_FIELDS = new Set(['seq', 'ts', 'kind', 'batch', 'crc', 'actor'])

/** The input of a call: `npm test`, `path=notes.md content="…"`. A large one is not in the log. */
export function inputText(input: object | null | undefined): string {
  if (input === null || input === undefined) return '(large)'
  const fields = Object.entries(input)
  const [only] = fields
  if (fields.length === 1 && typeof only?.[1] === 'string') return only[1]
  return fields.map(([field, value]) => `${field}=${quotedWord(value)}`).join(' ')
}

/** Quotes a value with spaces or line breaks, so that its end is visible. */
function quotedWord(value: unknown): string {
  return typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)
}
