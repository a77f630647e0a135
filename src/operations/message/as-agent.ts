/**
 * `send` as an agent: in a shell that one of its tools started, or by the operator with `--from`. The rules of the tree
 * apply, and the message goes through the inbox.
 */

import { checkAllowOf } from '../../dispatch/allow.js'
import { refuseInTool } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { effectOfPost, postOnce, withEffect } from '../../dispatch/effect.js'
import {
  findKeyedOutcome,
  idOfKey,
  isOwnTurn,
  keyConflict,
  nextIdOfKey,
} from '../../dispatch/keyed-message.js'
import { nameOf, type OnOutcome, type Outcome, wordOf } from '../../dispatch/outcome.js'
import { readState } from '../../dispatch/read-state.js'
import { viewReceiver, viewTurn } from '../../dispatch/view.js'
import { SubstratError } from '../../errors.js'
import { findPending } from '../../mail/inbox.js'
import type { Message } from '../../mail/message.js'
import { askedOptions } from '../../schema/message.js'
import { digestOf } from '../../session/ids.js'
import { openDurable } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { howEnded, isToContinue } from '../../session/status.js'
import { randomUuid } from '../../start/random.js'
import { timeoutSignal } from '../../timeout-signal.js'
import { checkMayWrite } from '../../tree/relations.js'
import { beginWait } from '../../tree/waits.js'
import { replyIn } from '../../turn/tools/tree/correspondence.js'
import type { SendRequest } from './request.js'

/**
 * In a tool, a request waits for its reply, which is the outcome. The message is only stored if it is queued, delayed,
 * no request, or sent by the operator with `--from`. A reply then goes to the agent's inbox.
 */
export async function sendAs(
  ctx: Context,
  senderId: string,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const from = readState(ctx.store, senderId)
  const to = readState(ctx.store, request.agentId)
  checkMayWrite(from, to)
  const answered = answeredBefore(ctx, from, to, request)
  if (answered !== undefined) {
    onOutcome(answered)
    return
  }
  if (from.state === 'terminated') throw terminatedSenderError(from)
  // A right of another agent's turn is a decision. Through the inbox, it would also hold for an agent above.
  if (request.allow.length > 0) refuseInTool(ctx.caller, 'allow tools')
  await checkAllowOf(ctx, to.id, request.allow)
  try {
    const mustQueue = request.isQueued || request.kind !== 'request' || request.notBefore !== null
    if (mustQueue || ctx.caller !== senderId) onOutcome(queueMessage(ctx, from, to, request))
    else await converse(ctx, from, to, request, onOutcome)
  } finally {
    await ctx.deliveries.untilIdle()
  }
}

function queueMessage(ctx: Context, from: State, to: State, request: SendRequest): Outcome {
  const place = placeOf(ctx, from, to, request)
  const result = viewReceiver(ctx.store, to, place.messageId)
  const messageId = store(ctx, from, to, request, place)
  ctx.deliveries.wake(to.id)
  ctx.reporter.note(`sent to ${nameOf(to)} as message ${messageId}`)
  return { result }
}

/** A terminated agent cannot receive a reply. */
function terminatedSenderError(from: State): SubstratError {
  return new SubstratError('SESSION_STATE', `${from.path} ${howEnded(from)} and cannot send messages`, {
    hint: 'list the living agents: substrat tree',
    facts: { agent_id: from.id, state: from.state },
  })
}

function answeredBefore(ctx: Context, from: State, to: State, request: SendRequest): Outcome | undefined {
  const key = keyOf(from, request)
  const state = key === null ? undefined : openDurable(ctx.store, to.id)?.state
  return state === undefined ? undefined : findKeyedOutcome(ctx, state, { ...request, key }, isToContinue)
}

/** Each sender has its own keys, so an agent cannot reuse a key of the operator or of another agent. */
function keyOf(from: State, { key }: SendRequest): string | null {
  return key === null ? null : `${from.id} ${key}`
}

interface Place {
  messageId: string
  /** A turn of the recipient already has the message. */
  isTaken: boolean
}

function placeOf(ctx: Context, from: State, to: State, request: SendRequest): Place {
  const key = keyOf(from, request)
  const asked = openRequest(from, to, { key, content: request.content })
  if (asked !== undefined) return { messageId: asked, isTaken: true }
  const messageId = key === null ? randomUuid() : nextIdOfKey(ctx.store, to, key)
  return { messageId, isTaken: false }
}

/** Stores a message with the same key once. */
function store(
  ctx: Context,
  from: State,
  to: State,
  request: SendRequest,
  { messageId: message_id, isTaken } = placeOf(ctx, from, to, request),
): string {
  if (isTaken) return message_id
  const { content, kind, notBefore } = request
  const key = keyOf(from, request)
  const sender = { from: from.id, from_path: from.path, to: to.id }
  const draft = {
    ...sender,
    message_id,
    kind,
    content,
    not_before: notBefore?.at ?? null,
    clock: notBefore?.clock ?? null,
    ...askedOptions({ ...request, key }),
  }
  // A delivered message with this key has another id, so the log need not be searched for this one.
  const isNew = postOnce(ctx.store, draft)
  const stored = isNew ? undefined : findPending(ctx.store, to, message_id)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(to, request)
  return message_id
}

/**
 * The id of the request, if its turn runs or will be continued. That turn sends the reply; a second message is dropped.
 */
function openRequest(
  from: State,
  to: State,
  message: { key: string | null; content: string },
): string | undefined {
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
async function converse(
  ctx: Context,
  from: State,
  to: State,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const edge = await beginWait(ctx.store, from.id, to.id, ctx.command)
  let stored: string | undefined
  try {
    // An earlier error about an interrupted turn is not the reply if that turn is continued.
    const earlier = isToContinue(to) ? ctx.store.mail.ids(from.id) : []
    const messageId = store(ctx, from, to, request)
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
    reporter.note(`the reply stays in the inbox of ${nameOf(from)}: ${(error as Error).message}`)
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
  const message = `${nameOf(to)} has not replied yet: ${why ?? 'the wait was stopped'}`
  return new SubstratError('WAITING', message, {
    hint: `its reply goes to the sender's inbox; see substrat show ${wordOf(to)}`,
    facts: { agent_id: to.id, message_id: messageId },
  })
}
