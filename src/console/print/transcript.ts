/** The output of `log` without `--json`: one entry per record. Messages are printed in full, other records in one line. */
import { readableTime } from '../../clock.js'
import { callText } from '../../dispatch/call-text.js'
import { causeOf, WHY_STOPPED } from '../../schema/reasons.js'
import type { SessionRecord } from '../../session/records.js'

/**
 * Whether `log` prints an entry for the record. `all`: also the life of tokens, which matters only to those who look for it. The
 * records come in the order of the log, or in reverse.
 */
export function shownFilter(all = false): (record: SessionRecord) => boolean {
  let latestWait = ''
  return (record) => {
    if (record.kind === 'run.resumed') latestWait = ''
    if (entryText(record, () => '') === undefined) return false
    if (all) return true
    if (record.kind !== 'run.waiting') return !CHURN.has(record.kind)
    // A new token for the same wait.
    const { run_id, wait, asks = [], not_before } = record
    const key = JSON.stringify([run_id, wait, not_before, asks.map(({ call_id }) => call_id)])
    const isNew = key !== latestWait
    latestWait = key
    return isNew
  }
}

const CHURN = new Set<string>(['token.minted', 'token.revoked', 'token.expired'])

/** Undefined for a record without an entry. `text` returns the content of a message. */
export function describeRecord(
  record: SessionRecord,
  text: (record: SessionRecord) => string,
): string | undefined {
  const what = entryText(record, text)
  return what === undefined
    ? undefined
    : `${readableTime(record.ts)}  ${what.replaceAll('\n', `\n${' '.repeat(22)}`)}`
}

/** The entry without its time. `timeText`: how it writes other times. */
export function entryText(
  record: SessionRecord,
  text: (record: SessionRecord) => string,
  timeText: (iso: string) => string = readableTime,
): string | undefined {
  switch (record.kind) {
    case 'session.created':
      return `created${record.name === null ? '' : ` as ${record.name}`}, provider ${record.provider}, in ${record.workspace}`
    case 'session.configured':
      if (record.hold !== undefined) return record.hold ? 'put on hold' : 'no longer on hold'
      if (record.metadata !== undefined) return notes(record.metadata)
      return `changed: ${Object.keys(record)
        .filter((field) => !PLACE_FIELDS.has(field))
        .join(', ')}`
    case 'session.suspended':
      return record.reason === 'idle'
        ? undefined
        : `suspended ${record.reason === 'recovery' ? 'by recovery' : 'on request'}`
    case 'session.terminated':
      return 'terminated'
    case 'session.moved':
      return `moved to ${record.to}`
    case 'session.arrived':
      return 'arrived in this home, or taken back'
    case 'run.started':
      return record.continues === undefined
        ? undefined
        : `continuing turn ${record.continues.slice(0, 8)}${record.auto ? ' automatically' : ''}`
    case 'run.resumed':
      // The entry of token.consumed already shows the decision.
      if (record.token_id !== undefined) return undefined
      return `continuing the interrupted turn${record.auto ? ` automatically, attempt ${record.attempt}` : ''}`
    case 'run.waiting':
      return record.wait === 'not_before'
        ? `waiting until ${timeText(record.not_before ?? '')}: ${record.why ?? 'requested by the provider'}`
        : waitingFor(record, timeText)
    case 'model.failed':
      return `request failed: ${causeOf(record.error)}${record.retry_in_ms === null ? '' : `; retrying in ${record.retry_in_ms / 1000} s`}`
    case 'model.responded':
      return responseText(record)
    case 'tool.started':
      // The calls of a model are in the entry of model.responded. The calls of a program have no other entry.
      return record.input === undefined && record.input_blob === undefined
        ? undefined
        : `calls ${callText({ tool: record.tool, input: record.input ?? LARGE })}`
    case 'program.tool_started':
      return `calls ${callText({ tool: record.tool, input: record.input ?? LARGE })}`
    case 'program.note':
      return `program: ${record.content}`
    case 'program.output':
      return `${record.stream}${record.left_out === undefined ? '' : ` (its first ${record.left_out} bytes are left out)`}: ${text(record).trimEnd()}`
    case 'tool.finished':
    case 'program.tool_finished':
      return `${record.tool}${record.is_error ? ' failed' : ''}: ${text(record).trimEnd()}`
    case 'tool.edited':
      return `you changed the call: ${callText({ tool: record.tool, input: record.input ?? LARGE })}`
    case 'tool.deferred':
      return `${record.tool} waits for its result from elsewhere: ${text(record).trimEnd()}`
    case 'token.consumed':
      return `decided: ${record.decision} (token ${record.token_id.slice(0, 8)})`
    case 'token.minted':
      return `token ${record.token_id.slice(0, 8)} created, until ${timeText(record.expires_at)}`
    case 'token.revoked':
      return `token ${record.token_id.slice(0, 8)} revoked: ${record.reason}`
    case 'token.expired':
      return `token ${record.token_id.slice(0, 8)} expired`
    case 'context.tried':
      return `asking again with a shorter conversation: ${record.messages} messages ${record.how === 'summary' ? 'replaced by a summary' : 'left out'}`
    case 'context.compacted':
      return `conversation compacted: ${record.messages} messages ${record.how === 'summary' ? 'replaced by a summary' : 'dropped'}`
    case 'message.notice':
      return `substrat: ${text(record)}`
    case 'session.imported':
      return `copied from agent ${record.from} of another home or tree; the records above are the original's`
    case 'session.rebuilt':
      return `log rebuilt after damage, agent put on hold; the later records of the old log, up to ${record.last_seq}, are in ${record.kept}`
    case 'run.failed':
      return `${record.said === undefined ? '' : `before refusing, the model said: ${text(record)}\n`}turn failed: ${causeOf(record.error)}`
    case 'run.cancelled':
      return `turn ${record.reason === 'turn_timeout' ? 'timed out' : 'cancelled'}: ${WHY_STOPPED[record.reason]}`
    case 'run.interrupted':
      return `turn interrupted: ${WHY_STOPPED[record.reason]}`
    case 'message.user':
      return `${record.origin === 'operator' ? 'you' : 'substrat'}: ${text(record)}`
    case 'mail.delivered':
      // A reply to a tool call is shown in the entry of tool.finished.
      return record.call_id === undefined ? `${sender(record)}: ${text(record)}` : undefined
    case 'run.completed':
      return record.terminates === true ? 'work completed; the agent terminates' : undefined
    case 'reminder.set':
      return `set a reminder ${dueText(record, timeText)}: ${text(record)}`
    case 'reminder.cancelled':
      return `reminder ${record.reminder_id.slice(0, 8)} cancelled`
    case 'agent.gated':
    case 'agent.ungated':
    case 'agent.permitted':
    case 'agent.poked':
    case 'agent.unwatched':
      return `${CONTROLLED[record.kind]} by ${whoIs(record.from)}`
    case 'agent.watched':
      return `watched by ${whoIs(record.from)} for ${record.on.join(', ')}${record.once ? ' (once)' : ''}`
    case 'message.agent':
      return `agent: ${text(record)}${record.incomplete === undefined ? '' : `\n(this may be incomplete: ${record.incomplete})`}`
    case 'provider.started':
      return `program started, process group ${record.process_group}`
    case 'server.failed':
      return `tool server ${record.server} did not start: ${record.why}`
    // Their effect has an entry of its own, or only programs read them.
    case 'session.upgraded':
    case 'session.activated':
    case 'session.seeded':
    case 'model.requested':
    case 'provider.state':
    case 'prompt.assembled':
    case 'server.started':
    case 'server.kept':
    case 'server.stopped':
    case 'wait.answered':
    case 'mail.replied':
    case 'mail.answered':
    case 'clock.set_back':
    case 'status.derived':
    case 'run.programs_gone':
    case 'outbound.queued':
    case 'outbound.attempted':
    case 'outbound.sent':
    case 'outbound.failed':
    case 'outbound.dropped':
    case 'channel.received':
    case 'channel.cursor':
    case 'channel.handled':
    case 'channel.taken':
    case 'channel.announced':
      return undefined
  }
}

/** Undefined if the entry of message.agent shows everything. */
function responseText(record: SessionRecord<'model.responded'>): string | undefined {
  const { calls = [], items, items_blob, items_refused } = record
  const bytes = items_blob?.bytes ?? (items === undefined ? 0 : Buffer.byteLength(JSON.stringify(items)))
  const lines = [
    ...(items_refused === true
      ? ['the service refused the reasoning of earlier responses; it was left out']
      : []),
    ...(bytes === 0 ? [] : [`reasoning: ${bytes} bytes, kept for the provider`]),
    ...calls.map(({ name, input }) => `calls ${callText({ tool: name, input: input ?? LARGE })}`),
  ]
  return lines.length === 0 ? undefined : lines.join('\n')
}

const CONTROLLED = {
  'agent.gated': 'gated',
  'agent.ungated': 'ungated',
  'agent.permitted': 'one turn permitted',
  'agent.poked': 'retry requested',
  'agent.unwatched': 'no longer watched',
}

function whoIs(from: string): string {
  return from === 'operator' ? 'you' : from.slice(0, 8)
}

function sender({ from, from_path, mail_kind, reminder_id }: SessionRecord<'mail.delivered'>): string {
  if (reminder_id !== undefined) return 'reminder'
  const who = from === 'operator' ? 'you' : (from_path ?? from)
  return mail_kind === 'request' ? who : `${who} (${mail_kind})`
}

function dueText(
  { due_at, every_ms }: SessionRecord<'reminder.set'>,
  timeText: (iso: string) => string,
): string {
  return `for ${timeText(due_at)}${every_ms === null ? '' : `, then every ${every_ms / 1000} s`}`
}

function notes(metadata: Record<string, string | null>): string {
  const changes = Object.entries(metadata).map(([name, value]) => `${name}=${value ?? '(removed)'}`)
  return `metadata changed: ${changes.join(', ')}`
}

const LARGE = { input: '(large)' }

/** Names only the tools: the entry above, with the calls of the response, has their input. */
function waitingFor(
  { wait, asks, deadline_at }: SessionRecord<'run.waiting'>,
  timeText: (iso: string) => string,
): string {
  const calls = asks ?? []
  const tools = calls.map(({ tool }) => tool).join(', ')
  const result = calls.length > 1 ? `the results of ${calls.length} calls` : `the result of ${tools}`
  const what = wait === 'input' ? 'an answer' : wait === 'tool_result' ? result : `approval of ${tools}`
  return `waiting for ${what}, until ${timeText(deadline_at ?? '')}`
}

const PLACE_FIELDS = new Set(['seq', 'ts', 'kind', 'batch', 'crc'])
