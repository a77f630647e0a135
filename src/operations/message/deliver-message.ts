/**
 * `send`, and `spawn --if-exists use`: delivers a message to an agent. The operator's message begins a turn at once, or goes
 * through the inbox; a message of an agent always goes through the inbox.
 */
import { checkAllowOf } from '../../dispatch/allow.js'
import type { Context } from '../../dispatch/context.js'
import { findKeyedOutcome } from '../../dispatch/keyed-message.js'
import type { OnOutcome } from '../../dispatch/outcome.js'
import { Visit } from '../../dispatch/own-visit.js'
import { openDurable } from '../../session/load.js'
import { sendAs } from './as-agent.js'
import { converse } from './direct.js'
import { queue } from './queue.js'
import { notBegunYet } from './refusals.js'
import { isForInbox, type MessageRequest } from './request.js'

/**
 * Calls `onOutcome` once, when the message's run has ended or the message is queued. Delivers other mail after that.
 */
export async function deliverMessage(
  ctx: Context,
  request: MessageRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const { agentId, from } = request
  if (from !== null) return sendAs(ctx, { ...request, from }, onOutcome)
  // Read without the lock, the outcome of a key is available while the agent is busy.
  const state = request.key === null ? undefined : openDurable(ctx.store, agentId)?.state
  const answered = state && findKeyedOutcome(ctx, state, request)
  if (answered !== undefined) return onOutcome(answered)
  await checkAllowOf(ctx, agentId, request.allow)
  const visit = new Visit(ctx, agentId, onOutcome)
  ctx.shutdown.earlyEnd = (signal) => notBegunYet(ctx.store, request, signal)
  await visit.finish(async () => {
    if (isForInbox(request)) visit.report(queue(ctx, request))
    else await converse(visit, request)
  })
}
