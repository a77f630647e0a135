/** Records as a person reads them: one entry each, what was said in full, the rest in a line. */
import { readableTime } from '../clock.js'
import { askText } from '../dispatch/ask-text.js'
import type { SessionRecord } from '../session/records.js'
import { WHY_STOPPED } from '../session/trouble.js'

/** Whether the record says something to a person. */
export function isTold(record: SessionRecord): boolean {
  return say(record, () => '') !== undefined
}

/** Undefined for records that say nothing to a person. `text` gives the content of a message. */
export function describeRecord(
  record: SessionRecord,
  text: (record: SessionRecord) => string,
): string | undefined {
  const what = say(record, text)
  return what === undefined
    ? undefined
    : `${readableTime(record.ts)}  ${what.replaceAll('\n', `\n${' '.repeat(22)}`)}`
}

function say(record: SessionRecord, text: (record: SessionRecord) => string): string | undefined {
  switch (record.kind) {
    case 'session.created':
      return `created${record.name === null ? '' : ` as ${record.name}`}, provider ${record.provider}, in ${record.workspace}`
    case 'session.configured':
      if (record.hold !== undefined) return record.hold ? 'put on hold' : 'no longer on hold'
      return `changed: ${Object.keys(record)
        .filter((field) => !PLACE_FIELDS.has(field))
        .join(', ')}`
    case 'session.suspended':
      return record.reason === 'idle'
        ? undefined
        : `suspended ${record.reason === 'recovery' ? 'by recovery' : 'on request'}`
    case 'session.terminated':
      return 'terminated'
    case 'run.started':
      return record.continues === undefined
        ? undefined
        : `going on with the turn ${record.continues.slice(0, 8)}${record.auto ? ', by itself' : ''}`
    case 'run.resumed':
      // What was decided is said of the token.
      if (record.token_id !== undefined) return undefined
      return `going on with the interrupted turn${record.auto ? `, by itself, attempt ${record.attempt}` : ''}`
    case 'run.waiting':
      return record.wait === 'not_before'
        ? `waiting until ${readableTime(record.not_before ?? '')}: ${record.why ?? 'the provider said so'}`
        : waitingFor(record)
    case 'model.failed':
      return `request failed: ${record.error.message}${record.retry_in_ms === null ? '' : `; trying again in ${record.retry_in_ms / 1000} s`}`
    case 'model.responded':
      return record.calls === undefined
        ? undefined
        : record.calls
            .map(({ name, input }) => `calls ${askText({ tool: name, input: input ?? LARGE })}`)
            .join('\n')
    case 'tool.finished':
      return `${record.tool}${record.is_error ? ' failed' : ''}: ${text(record).trimEnd()}`
    case 'token.consumed':
      return `decided: ${record.decision} (token ${record.token_id.slice(0, 8)})`
    case 'token.revoked':
      return `token ${record.token_id.slice(0, 8)} revoked: ${record.reason}`
    case 'context.compacted':
      return `conversation compacted: ${record.messages} messages ${record.how === 'summary' ? 'became a summary' : 'were left out'}`
    case 'message.notice':
      return `substrat: ${text(record)}`
    case 'run.failed':
      return `turn failed: ${record.error.message}`
    case 'run.cancelled':
      return `turn cancelled: ${WHY_STOPPED[record.reason]}`
    case 'run.interrupted':
      return `turn interrupted: ${WHY_STOPPED[record.reason]}`
    case 'message.user':
      return `${record.origin === 'operator' ? 'you' : 'substrat'}: ${text(record)}`
    case 'mail.delivered':
      return `${record.from === 'operator' ? 'you' : record.from}: ${text(record)}`
    case 'message.agent':
      return `agent: ${text(record)}`
    case 'provider.started':
      return `program started, process group ${record.process_group}`
    default:
      return undefined
  }
}

const LARGE = { input: '(large)' }

/** What is asked stands right above it, in the calls of the response. */
function waitingFor({ wait, asks, deadline_at }: SessionRecord<'run.waiting'>): string {
  const what =
    wait === 'input' ? 'an answer' : `approval of ${(asks ?? []).map(({ tool }) => tool).join(', ')}`
  return `waiting for ${what}, until ${readableTime(deadline_at ?? '')}`
}

const PLACE_FIELDS = new Set(['seq', 'ts', 'kind', 'batch', 'crc'])
