/** The output of `inbox` without `--json`. */
import { readableTime } from '../../clock.js'
import type { InboxView, MailView } from '../../schema/output-overview.js'

export function inboxText({ messages, damaged }: InboxView): string {
  const files = damaged.map((path) => `damaged: ${path}`)
  const entries = [...messages.map(mailText), ...files]
  return entries.length === 0 ? 'no messages' : entries.join('\n\n')
}

function mailText({
  message_id,
  kind,
  from_path,
  reply_to,
  content,
  control,
  not_before,
  created_at,
}: MailView) {
  const facts = [
    `${kind} ${message_id} from ${from_path}, ${readableTime(created_at)}`,
    reply_to === null ? '' : `in reply to ${reply_to}`,
    not_before === null ? '' : `not before ${readableTime(not_before)}`,
  ]
  const text = control === null ? content : control.verb
  return `${facts.filter(Boolean).join(', ')}\n    ${text.trimEnd().replaceAll('\n', '\n    ')}`
}
