/** Records as a person reads them: one entry each, what was said in full, the rest in a line. */
import type { SessionRecord } from '../session/records.js'

/** Undefined for records that say nothing to a person. `text` gives the content of a message. */
export function describeRecord(
  record: SessionRecord,
  text: (record: SessionRecord) => string,
): string | undefined {
  const what = say(record, text)
  return what === undefined
    ? undefined
    : `${record.ts.slice(0, 19).replace('T', ' ')}  ${what.replaceAll('\n', `\n${' '.repeat(21)}`)}`
}

function say(record: SessionRecord, text: (record: SessionRecord) => string): string | undefined {
  switch (record.kind) {
    case 'session.created':
      return `created${record.name === null ? '' : ` as ${record.name}`}, provider ${record.provider}, in ${record.workspace}`
    case 'session.configured':
      return `changed: ${Object.keys(record)
        .filter((field) => !PLACE_FIELDS.has(field))
        .join(', ')}`
    case 'session.suspended':
      return record.reason === 'idle' ? undefined : `suspended (${record.reason})`
    case 'session.terminated':
      return 'terminated'
    case 'run.started':
      return record.continues === undefined
        ? undefined
        : `going on with the interrupted turn ${record.continues.slice(0, 8)}${record.auto ? ', by itself' : ''}`
    case 'run.resumed':
      return `going on with the interrupted turn${record.auto ? `, by itself, attempt ${record.attempt}` : ''}`
    case 'run.failed':
      return `turn failed: ${record.error.message}`
    case 'run.cancelled':
      return `turn cancelled: ${record.reason}`
    case 'run.interrupted':
      return `turn interrupted: ${record.reason}`
    case 'message.user':
      return `${record.origin === 'operator' ? 'you' : 'substrat'}: ${text(record)}`
    case 'mail.delivered':
      return `${record.from}: ${text(record)}`
    case 'message.agent':
      return `agent: ${text(record)}`
    case 'provider.started':
      return `program started, process group ${record.process_group}`
    default:
      return undefined
  }
}

const PLACE_FIELDS = new Set(['seq', 'ts', 'kind', 'batch', 'crc'])
