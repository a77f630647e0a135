/** `send --reply-to`: the operator answers a request of an agent. */

import type { Context } from '../../dispatch/context.js'
import type { OnOutcome } from '../../dispatch/outcome.js'
import { Visit } from '../../dispatch/own-visit.js'
import { readState } from '../../dispatch/read-state.js'
import { viewReceiver } from '../../dispatch/view.js'
import { OPERATOR } from '../../format.js'
import { replyId } from '../../mail/answers.js'
import { post } from '../../mail/post.js'
import { messagesIn } from '../../mail/stored-messages.js'
import { messageIdOf } from '../inbox.js'

export interface Answer {
  agentId: string
  /** The id of the request, or a unique beginning of it. */
  replyTo: string
  content: string
}

/**
 * The reply is stored before the request is moved aside. After a crash in between, the same command stores no second
 * reply, because its id is derived from the request. Throws MESSAGE_NOT_FOUND if the agent has no open request with
 * that id.
 */
export async function answerRequest(
  ctx: Context,
  { agentId, replyTo: word, content }: Answer,
  onOutcome: OnOutcome,
): Promise<void> {
  const { store } = ctx
  const visit = new Visit(ctx, agentId, onOutcome)
  await visit.finish(async () => {
    const open = [...messagesIn(store, OPERATOR)].filter(
      ({ kind, from }) => kind === 'request' && from === agentId,
    )
    const replyTo = messageIdOf(
      open.map(({ message_id }) => message_id),
      word,
    )
    const draft = {
      message_id: replyId(replyTo),
      from: OPERATOR,
      from_path: OPERATOR,
      to: agentId,
      kind: 'response' as const,
      reply_to: replyTo,
      content,
    }
    const state = readState(store, agentId)
    const result = viewReceiver(store, state, draft)
    post(store, draft, { isRepeat: true })
    store.mail.take(replyTo)
    ctx.reporter.note(`answered request ${replyTo} of ${state.path}`)
    visit.report({ result })
  })
}
