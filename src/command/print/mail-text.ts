/** Messages as a person reads them. */
import { readableTime } from '../../clock.js'
import type { DeliveredAgent } from '../../operations/deliver.js'
import type { InboxView, MailView } from '../../operations/inbox.js'
import type { WaitedAgent } from '../../operations/wait.js'

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
    reply_to === null ? '' : `about ${reply_to}`,
    not_before === null ? '' : `not before ${readableTime(not_before)}`,
  ]
  const text = control === null ? content : control.verb
  return `${facts.filter(Boolean).join(', ')}\n    ${text.trimEnd().replaceAll('\n', '\n    ')}`
}

/** One line about an agent that was given its turns. */
export function deliveredLine({ agent, path, turns, status, run, inbox }: DeliveredAgent): string {
  const given = turns === 1 ? '1 turn' : `${turns} turns`
  const how = turns === 0 || run === null || run.status === 'open' ? status : run.status
  return `${path ?? agent}: ${given}, ${how}${inbox === 0 ? '' : `, ${inbox} waiting`}`
}

/** The reply alone; where there are several, under the name of its agent and a line apart. */
export function waitedText({ agent, reply }: WaitedAgent, agentIds: string[]): string {
  if (agentIds.length === 1) return reply ?? ''
  const end = agent.id === agentIds.at(-1) ? '' : '\n'
  return `==> ${'path' in agent ? agent.path : agent.id} <==\n${reply}${end}`
}
