/**
 * A message of an agent: from a shell that one of its tools started, or by the operator with `--from`. The rules of the tree
 * apply, and the message goes through the inbox.
 */
import { checkAllowOf } from '../../dispatch/allow.js'
import { refuseInTool } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { effectOfPost, withEffect } from '../../dispatch/effect.js'
import { findKeyedOutcome, idOfKey, isOwnTurn, keyOfAgent } from '../../dispatch/keyed-message.js'
import { type OnOutcome, type Outcome, wordOf } from '../../dispatch/outcome.js'
import { readState } from '../../dispatch/read-state.js'
import { viewReceiver, viewTurn } from '../../dispatch/view.js'
import { SubstratError } from '../../errors.js'
import type { Message } from '../../mail/message.js'
import { openDurable } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { howEnded, isToContinue } from '../../session/status.js'
import { timeoutSignal } from '../../timeout-signal.js'
import { checkMayWrite } from '../../tree/relations.js'
import { beginWait } from '../../tree/waits.js'
import { replyIn } from '../../turn/tools/tree/correspondence.js'
import { newId, sentMessage, storeMessage } from './queue.js'
import { isForInbox, type MessageRequest } from './request.js'

/**
 * In a tool, a request waits for its reply, which is the outcome. The message is only stored if it is queued, delayed,
 * no request, or sent by the operator with `--from`. A reply then goes to the agent's inbox.
 */
export async function sendAs(
  ctx: Context,
  given: MessageRequest & { from: string },
  onOutcome: OnOutcome,
): Promise<void> {
  const from = readState(ctx.store, given.from)
  const to = readState(ctx.store, given.agentId)
  checkMayWrite(from, to)
  const key = given.key === null ? null : keyOfAgent(from.id, given.key)
  const request = { ...given, key }
  const state = key === null ? undefined : openDurable(ctx.store, to.id)?.state
  const answered = state && findKeyedOutcome(ctx, state, request, isToContinue)
  if (answered !== undefined) return onOutcome(answered)
  if (from.state === 'terminated') throw terminatedSenderError(from)
  // A right of another agent's turn is a decision. Through the inbox, it would also hold for an agent above.
  if (request.allow.length > 0) refuseInTool(ctx.caller, 'allow tools')
  await checkAllowOf(ctx, to.id, request.allow)
  try {
    if (isForInbox(request) || ctx.caller !== from.id) onOutcome(queueAs(ctx, from, to, request))
    else await awaitReply(ctx, from, to, request, onOutcome)
  } finally {
    await ctx.deliveries.untilIdle()
  }
}

function queueAs(ctx: Context, from: State, to: State, request: MessageRequest): Outcome {
  const asked = openRequest(from, to, request)
  const messageId = asked ?? newId(ctx.store, to, request)
  const result = viewReceiver(ctx.store, to, sentMessage(messageId, request))
  if (asked === undefined) storeMessage(ctx.store, from, to, request, messageId)
  ctx.deliveries.wake(to.id)
  ctx.reporter.note(`sent to ${to.path} as message ${messageId}`)
  return { result }
}

/** A terminated agent cannot receive a reply. */
function terminatedSenderError(from: State): SubstratError {
  return new SubstratError('SESSION_STATE', `${from.path} ${howEnded(from)} and cannot send messages`, {
    hint: 'list the living agents: substrat tree',
    facts: { agent_id: from.id, state: from.state },
  })
}

/**
 * The id of the request, if its turn runs or will be continued. That turn sends the reply; a second message is dropped.
 */
function openRequest(from: State, to: State, message: MessageRequest): string | undefined {
  const isOpen = to.run?.status === 'open' || isToContinue(to)
  if (!isOpen || !isOwnTurn(to, message)) return undefined
  const asked = to.run?.requests.find((request) => request.from === from.id)?.message_id
  // A notification may have been delivered under another id of this key. That does not matter: it has no reply.
  return asked ?? idOfKey(to.id, message.key as string)
}

/**
 * Removes the reply from the sender's inbox once it is reported. After a crash before that, a turn of the sender gets
 * it.
 */
async function awaitReply(
  ctx: Context,
  from: State,
  to: State,
  request: MessageRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const edge = await beginWait(ctx.store, from.id, to.id, ctx.command)
  let stored: string | undefined
  try {
    // An earlier error about an interrupted turn is not the reply if that turn is continued.
    const earlier = isToContinue(to) ? ctx.store.mail.ids(from.id) : []
    const asked = openRequest(from, to, request)
    const messageId = asked ?? newId(ctx.store, to, request)
    if (asked === undefined) storeMessage(ctx.store, from, to, request, messageId)
    stored = messageId
    ctx.shutdown.listen()
    const reply = (): Message | undefined => replyIn(ctx.store, from.id, messageId, earlier)
    const whyNot = await ctx.deliveries.runUntil(
      to.id,
      () => reply() !== undefined,
      AbortSignal.any([ctx.shutdown.whenRequested, timeoutSignal(ctx.bounds.turnTimeoutMs)]),
    )
    const found = reply()
    onOutcome(outcomeOf(ctx, readState(ctx.store, to.id), found, messageId, whyNot))
    if (found !== undefined) takeReply(ctx, from, found)
  } catch (error) {
    if (stored === undefined || request.key !== null) throw error
    throw withEffect(error, effectOfPost(ctx.store, error, to.id, stored))
  } finally {
    await edge.release()
  }
}

/** The reply is reported, so a failure to remove it does not fail the command: a turn of the sender gets it once more. */
function takeReply({ store, reporter }: Context, from: State, { message_id }: Message): void {
  try {
    store.mail.remove(from.id, message_id)
    // The reply's id is in no log, so a file that a power cut restores would be delivered a second time.
    store.mail.syncRemovals(from.id)
  } catch (error) {
    reporter.note(`the reply stays in the inbox of ${from.path}: ${(error as Error).message}`)
  }
}

function outcomeOf(
  ctx: Context,
  to: State,
  reply: Message | undefined,
  messageId: string,
  whyNot: string | undefined,
): Outcome {
  const result = viewTurn(ctx.store, to, to.run, null)
  if (reply === undefined) return { result, failure: notYet(to, messageId, whyNot) }
  if (reply.kind === 'response') return { result: { ...result, reply: reply.content } }
  const failure = new SubstratError('PROVIDER_FAILED', reply.content, {
    hint: `see how its turn ended: substrat show ${wordOf(to)}`,
    facts: { agent_id: to.id },
  })
  return { result, failure }
}

function notYet(to: State, messageId: string, why: string | undefined): SubstratError {
  const message = `${to.path} has not replied yet: ${why ?? 'the wait was stopped'}`
  return new SubstratError('WAITING', message, {
    hint: `its reply goes to the sender's inbox; see substrat show ${wordOf(to)}`,
    facts: { agent_id: to.id, message_id: messageId },
  })
}
