/** Shared parts of the tools that write to other agents: the recipient, the message, and the wait for a reply. */
import { parseTime } from '../../../clock.js'
import { OPERATOR } from '../../../format.js'
import type { Message } from '../../../mail/message.js'
import { type Draft, post } from '../../../mail/post.js'
import { messagesIn } from '../../../mail/stored-messages.js'
import type { JsonObject } from '../../../provider/contract.js'
import { type DueTime, dueAfter } from '../../../session/durations.js'
import { deriveId } from '../../../session/ids.js'
import { openForRead } from '../../../session/load.js'
import type { State } from '../../../session/state.js'
import type { Store } from '../../../storage/store.js'
import { checkIsChild, checkMayWrite, resolveRelative } from '../../../tree/relations.js'
import { beginWait } from '../../../tree/waits.js'
import { optionalSeconds, optionalText, type ToolAnswer, type ToolContext, textField } from '../tool.js'

/** The agent or operator that `to` names. Throws if the caller may not write to it. */
export function recipientOf(input: JsonObject, { tree }: ToolContext): string {
  const { store, state } = tree.session
  const to = resolveRelative(store, state, textField(input, 'to'))
  if (to === OPERATOR) {
    if (state.parent === null) return to
    throw new Error('only a root may write to the operator: write to your parent')
  }
  checkMayWrite(state, stateOf(store, to))
  return to
}

/** The direct child that `agent` names. */
export function childOf(input: JsonObject, { tree }: ToolContext, verb: string): State {
  const { store, state } = tree.session
  const id = resolveRelative(store, state, textField(input, 'agent'))
  if (id === OPERATOR) throw new Error(`the operator is not your child: you may not ${verb} it`)
  const child = stateOf(store, id)
  checkIsChild(state, child, verb)
  return child
}

/** Sends a message. Its id is derived from the call, so a repeat after a crash sends no second message. */
export function sendFrom(
  { tree, call }: ToolContext,
  message: Pick<Draft, 'to' | 'kind' | 'content'> & Partial<Draft>,
): string {
  const { store, state } = tree.session
  const draft = {
    message_id: deriveId(call.made_at, message.to),
    from: state.id,
    from_path: state.path,
    ...message,
  }
  post(store, draft, { isRepeat: call.isRepeat })
  tree.wake(message.to)
  return draft.message_id
}

/** The time of `not_before` or `delay_seconds`; null: deliver at once. */
export function timeOf(input: JsonObject): DueTime | null {
  const at = optionalText(input, 'not_before')
  const delayMs = optionalSeconds(input, 'delay_seconds')
  if (at === null) return delayMs === null ? null : dueAfter(delayMs)
  const time = parseTime(at)
  if (time === undefined)
    throw new Error('not_before must be a time in ISO 8601, such as 2026-11-20T10:00:00Z')
  return { at: time, clock: null }
}

/** Sends a request and waits for its reply. If the wait would deadlock, throws DEADLOCK before sending. */
export async function awaitReply(context: ToolContext, to: string, send: () => string): Promise<ToolAnswer> {
  const { tree, signal } = context
  const { session } = tree
  const edge = await beginWait(session.store, session.id, to, tree.command)
  try {
    const requestId = send()
    let reply: Message | undefined
    const whyNot = await tree.runUntil(
      to,
      () => {
        reply ??= replyIn(session.store, session.id, requestId)
        return reply !== undefined
      },
      signal,
    )
    if (reply !== undefined) return answerWith(context, reply)
    const why = whyNot ?? 'the wait was stopped'
    const content = `No reply yet: ${why}. The reply will arrive as a message (request ${requestId}).`
    return { content, isOpen: true }
  } finally {
    await edge.release()
  }
}

/**
 * The reply to a call that a dead process had begun, if it has arrived. The search does not resolve the recipient's name:
 * the recipient may be terminated by now and its name reused.
 */
export function earlierReply(context: ToolContext): ToolAnswer | undefined {
  const { tree, call } = context
  if (!call.isRepeat) return undefined
  for (const message of messagesIn(tree.session.store, tree.session.id)) {
    if (isReply(message) && message.reply_to === deriveId(call.made_at, message.from))
      return answerWith(context, message)
  }
  return undefined
}

/** The response or error to a request, if it is in the inbox. Messages with ids in `earlier` do not count. */
export function replyIn(
  store: Store,
  agentId: string,
  requestId: string,
  earlier: string[] = [],
): Message | undefined {
  for (const message of messagesIn(store, agentId)) {
    const isTo = isReply(message) && message.reply_to === requestId
    if (isTo && !earlier.includes(message.message_id)) return message
  }
  return undefined
}

function isReply({ kind }: Message): boolean {
  return kind === 'response' || kind === 'error'
}

/** The batch with the call's result also has the reply's delivery, so a crash can neither lose nor repeat it. */
function answerWith({ call }: ToolContext, reply: Message): ToolAnswer {
  const { message_id, from, from_path, reply_to, content, created_at, actor } = reply
  const isError = reply.kind === 'error'
  return {
    content,
    is_error: isError,
    records: [
      {
        kind: 'mail.delivered',
        run_id: call.run_id,
        message_id,
        from,
        from_path,
        mail_kind: isError ? 'error' : 'response',
        ...(reply_to === null ? {} : { reply_to }),
        content,
        sent_at: created_at,
        call_id: call.call_id,
        ...(actor === undefined ? {} : { actor }),
      },
    ],
  }
}

function stateOf(store: Store, agentId: string): State {
  const state = openForRead(store, agentId)?.state
  if (state === undefined) throw new Error(`there is no agent ${agentId}`)
  return state
}
