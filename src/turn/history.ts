/** The conversation as a model is given it: from the log, since the last compaction. Errors for people are not in it. */
import type { ModelMessage } from '../provider/contract.js'
import type { Session } from '../session/session.js'

export function conversation(session: Session): ModelMessage[] {
  const { context_seq, context_offset } = session.state
  const messages: ModelMessage[] = []
  for (const record of session.records({ seq: context_seq, offset: context_offset })) {
    if (record.kind === 'message.user' || record.kind === 'mail.delivered') {
      messages.push({ role: 'user', content: session.text(record.content) })
    } else if (record.kind === 'message.agent') {
      messages.push({ role: 'assistant', content: session.text(record.content) })
    }
  }
  return messages
}

/** What the open run, or the run that it continues, was asked. */
export function promptOf(session: Session): string {
  const at = session.state.run?.prompt ?? null
  if (at === null) return ''
  const record = session.recordAt(at)
  return record.kind === 'message.user' || record.kind === 'mail.delivered'
    ? session.text(record.content)
    : ''
}

/** What an agent program is told when a turn of it was interrupted: substrat cannot know how far it came. */
export function recoveryPrompt(session: Session): string {
  const at = session.state.run?.prompt ?? null
  const record = at === null ? undefined : session.recordAt(at)
  const asked = promptOf(session)
  // An interrupted recovery prompt is asked again as it is, not quoted within another.
  if (record?.kind === 'message.user' && record.origin === 'continuation') return asked
  return [
    'Your previous turn was interrupted before its reply was recorded; some of its work may be done already.',
    'Look at what is done, and go on from there. The turn was:',
    '',
    asked,
  ].join('\n')
}
