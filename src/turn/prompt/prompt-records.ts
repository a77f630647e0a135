/** The words that a turn was given: a person's prompt, or mail. */
import type { SessionRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'

/** The part of a session that a conversation is read from. */
export type Readable = Pick<Session, 'state' | 'recordAt' | 'recordsOfKinds' | 'text'>

/** The prompt of the open run, or of the run that it continues. */
export function promptOf(session: Readable): string {
  return promptRecords(session)
    .map((record) =>
      record.kind === 'mail.delivered' ? mailText(record, session) : session.text(record.content),
    )
    .join('\n\n')
}

export function promptRecords(session: Readable): SessionRecord<'message.user' | 'mail.delivered'>[] {
  const records = (session.state.run?.prompts ?? []).map((at) => session.recordAt(at))
  return records.filter((record) => record.kind === 'message.user' || record.kind === 'mail.delivered')
}

/** A message as its recipient reads it: a header with the sender and the request it answers, then the content. */
export function mailText(record: SessionRecord<'mail.delivered'>, session: Pick<Readable, 'text'>): string {
  const { from, from_path, mail_kind, reply_to, reminder_id, schedule_id } = record
  const content = session.text(record.content)
  if (reminder_id !== undefined) return `[reminder]\n${content}`
  if (schedule_id !== undefined) return `[schedule ${from_path ?? ''}, ${record.sent_at}]\n${content}`
  if (from === 'operator') return content
  const about = reply_to === undefined ? '' : `, to ${reply_to}`
  return `[${mail_kind} ${record.message_id} from ${from_path ?? from}${about}]\n${content}`
}
