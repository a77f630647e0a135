/** Tools that send messages to other agents and show the inbox. */

import { SubstratError } from '../../../errors.js'
import { replyId } from '../../../mail/answers.js'
import { listPending } from '../../../mail/inbox.js'
import type { JsonObject } from '../../../provider/contract.js'
import { deriveId } from '../../../session/ids.js'
import { livingChildren } from '../../../tree/children.js'
import { optionalText, type Tool, type ToolAnswer, type ToolContext, textField } from '../tool.js'
import { awaitReply, earlierReply, recipientOf, sendFrom, timeOf } from './correspondence.js'

const when = {
  not_before: { type: 'string', description: 'Do not deliver it before this time (ISO 8601).' },
  delay_seconds: { type: 'number', description: 'Deliver it after this many seconds.' },
}

export const sendMessage: Tool = {
  name: 'send_message',
  description:
    'Sends a message to your parent, a child or a sibling. A request opens a turn there. You receive its reply as a message, or with wait as the result of this call. Your reply at the end of a turn answers its request automatically: send no response for it.',
  input_schema: {
    type: 'object',
    properties: {
      to: { type: 'string', description: '`parent`, the name of a child or sibling, a path or an id.' },
      content: { type: 'string', description: 'The message.' },
      kind: {
        enum: ['request', 'notification', 'response'],
        description: 'A request (default) is answered, a notification is not; a response needs reply_to.',
      },
      reply_to: { type: 'string', description: 'The id of the open request that a response answers.' },
      wait: { type: 'boolean', description: 'Wait for the reply to this request.' },
      ...when,
    },
    required: ['to', 'content'],
  },
  kind: 'own',
  waits: true,
  async run(input, context) {
    const kind = kindOf(input)
    if (kind === 'response') return respond(input, context)
    const earlier = input.wait === true ? earlierReply(context) : undefined
    if (earlier !== undefined) return earlier
    const to = recipientOf(input, context)
    const content = textField(input, 'content')
    const due = timeOf(input)
    const send = (): string =>
      sendFrom(context, { to, kind, content, not_before: due?.at ?? null, clock: due?.clock ?? null })
    if (input.wait !== true) return `sent as ${send()}`
    if (kind !== 'request' || due !== null)
      throw new Error('wait needs a request without not_before or delay_seconds')
    if (to === 'operator') throw new Error('a person may take days to reply: send it without wait')
    return awaitReply(context, to, send)
  },
}

function kindOf(input: JsonObject): 'request' | 'notification' | 'response' {
  const kind = optionalText(input, 'kind') ?? 'request'
  if (kind === 'request' || kind === 'notification' || kind === 'response') return kind
  throw new Error('kind is request, notification or response')
}

/** Replies to a request of this turn before the turn's end. Any other response is dropped. */
function respond(input: JsonObject, context: ToolContext): ToolAnswer {
  const { tree, call } = context
  const request = tree.session.state.run?.requests.find(({ message_id }) => message_id === input.reply_to)
  if (request === undefined)
    return { content: 'Dropped: reply_to is not an open request of this turn.', is_error: true }
  const { message_id, from } = request
  const content = textField(input, 'content')
  sendFrom(context, {
    message_id: replyId(message_id),
    to: from,
    kind: 'response',
    content,
    reply_to: message_id,
  })
  return {
    content: 'answered',
    records: [{ kind: 'mail.replied', run_id: call.run_id, message_id }],
  }
}

export const broadcast: Tool = {
  name: 'broadcast',
  description: 'Sends a notification (or a request) to each of your living children.',
  input_schema: {
    type: 'object',
    properties: {
      content: { type: 'string', description: 'The message.' },
      kind: { enum: ['notification', 'request'], description: 'Default: notification.' },
      ...when,
    },
    required: ['content'],
  },
  kind: 'own',
  async run(input, context) {
    const { session } = context.tree
    const content = textField(input, 'content')
    const kind = input.kind === 'request' ? 'request' : 'notification'
    const due = timeOf(input)
    const lines = livingChildren(session.store, session.id).map(({ id, path }) => {
      try {
        sendFrom(context, { to: id, kind, content, not_before: due?.at ?? null, clock: due?.clock ?? null })
        return `${path}: sent as ${deriveId(context.call.made_at, id)}`
      } catch (error) {
        // A child that was terminated meanwhile or has a full inbox does not stop the broadcast.
        if (error instanceof SubstratError && error.exitStatus === 13) return `${path}: ${error.message}`
        throw error
      }
    })
    return lines.join('\n') || 'You have no living children.'
  },
}

export const checkInbox: Tool = {
  name: 'check_inbox',
  description:
    'Lists the pending messages in your inbox without removing them. Each message gets a turn of its own.',
  input_schema: { type: 'object', properties: {} },
  kind: 'reads',
  async run(_, { tree }) {
    const { store, state } = tree.session
    const lines = listPending(store, state).map(({ message_id, kind, from_path, not_before, content }) =>
      JSON.stringify({ message_id, kind, from: from_path, not_before, content: content.slice(0, 500) }),
    )
    return lines.join('\n') || 'Your inbox is empty.'
  },
}
