/**
 * `send` in the name of an agent: from a shell in one of its tools, or by a person with `--from`. The rules of the tree
 * hold, and the message goes through the inbox.
 */

import type { Context } from '../dispatch/context.js'
import { findKeyedOutcome, idOfKey, isOwnTurn, keyConflict, nextIdOfKey } from '../dispatch/keyed-message.js'
import { nameOf, type OnOutcome, type Outcome, wordOf } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import type { SendRequest } from '../dispatch/send-request.js'
import { viewTurn } from '../dispatch/view.js'
import { SubstratError } from '../errors.js'
import { findPending } from '../mail/inbox.js'
import type { Message } from '../mail/message.js'
import { post } from '../mail/post.js'
import { digestOf } from '../session/ids.js'
import { openDurable } from '../session/load.js'
import type { State } from '../session/state.js'
import { isToContinue } from '../session/status.js'
import { randomUuid } from '../start/random.js'
import { timeoutSignal } from '../timeout-signal.js'
import { checkMayWrite } from '../tree/relations.js'
import { beginWait } from '../tree/waits.js'
import { replyIn } from '../turn/tools/tree/correspondence.js'

/**
 * A request from a tool is waited for, and its reply is the outcome. What is queued, asks for no reply or is sent by a
 * person for the agent is only stored: the reply is then the agent's own mail.
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
  try {
    const isLeft = request.isQueued || request.kind !== 'request' || request.notBefore !== null
    if (isLeft || ctx.caller !== senderId) onOutcome(leave(ctx, from, to, request))
    else await converse(ctx, from, to, request, onOutcome)
  } finally {
    await ctx.deliveries.untilIdle()
  }
}

function leave(ctx: Context, from: State, to: State, request: SendRequest): Outcome {
  const messageId = store(ctx, from, to, request)
  ctx.deliveries.wake(to.id)
  ctx.reporter.note(`sent to ${nameOf(to)} as message ${messageId}`)
  return { result: viewTurn(ctx.store, to, null, null) }
}

/** Nobody would be there to take the reply. */
function terminatedSenderError(from: State): SubstratError {
  return new SubstratError('SESSION_STATE', `${from.path} is terminated: it sends no more messages`, {
    hint: 'see which agents live: substrat tree',
    facts: { agent_id: from.id, state: from.state },
  })
}

function answeredBefore(ctx: Context, from: State, to: State, request: SendRequest): Outcome | undefined {
  const key = keyOf(from, request)
  const state = key === null ? undefined : openDurable(ctx.store, to.id)?.state
  return state === undefined ? undefined : findKeyedOutcome(ctx, state, { ...request, key }, isToContinue)
}

/** Keys are of their sender: what a person calls a message is not what an agent does. */
function keyOf(from: State, { key }: SendRequest): string | null {
  return key === null ? null : `${from.id} ${key}`
}

/** With the same key the same message is stored once. */
function store(ctx: Context, from: State, to: State, request: SendRequest): string {
  const { content, kind, notBefore, turnTimeoutMs } = request
  const key = keyOf(from, request)
  const asked = openRequest(from, to, { key, content })
  if (asked !== undefined) return asked
  const message_id = key === null ? randomUuid() : nextIdOfKey(ctx.store, to, key)
  const sender = { from: from.id, from_path: from.path, to: to.id }
  const draft = {
    ...sender,
    message_id,
    kind,
    content,
    key,
    not_before: notBefore?.at ?? null,
    clock: notBefore?.clock ?? null,
    turn_timeout_ms: turnTimeoutMs,
  }
  // What was taken with its key has another id by now: the log need not be asked for this one.
  const isNew = post(ctx.store, draft)
  const stored = isNew ? undefined : findPending(ctx.store, to, message_id)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(to, request)
  return message_id
}

/** Its id, where its turn is not over, or is gone on with: the reply is to that one, and another of that key is dropped. */
function openRequest(
  from: State,
  to: State,
  message: { key: string | null; content: string },
): string | undefined {
  const isOpen = to.run?.status === 'open' || isToContinue(to)
  if (!isOpen || !isOwnTurn(to, message)) return undefined
  const asked = to.run?.requests.find((request) => request.from === from.id)?.message_id
  // What asks for no reply was taken by the id of its first time, or by that of a later one: which, nobody waits for.
  return asked ?? idOfKey(to.id, message.key as string)
}

/** The reply is taken from the sender's inbox once it is told: what dies before that leaves it there, for a turn. */
async function converse(
  ctx: Context,
  from: State,
  to: State,
  request: SendRequest,
  onOutcome: OnOutcome,
): Promise<void> {
  const edge = await beginWait(ctx.store, from.id, to.id, ctx.command)
  try {
    // That the turn was interrupted is no reply where it is gone on with.
    const earlier = isToContinue(to) ? ctx.store.mail.ids(from.id) : []
    const messageId = store(ctx, from, to, request)
    ctx.shutdown.listen()
    const reply = (): Message | undefined => replyIn(ctx.store, from.id, messageId, earlier)
    const whyNot = await ctx.deliveries.runUntil(
      to.id,
      () => reply() !== undefined,
      AbortSignal.any([ctx.shutdown.whenRequested, timeoutSignal(ctx.bounds.turnTimeoutMs)]),
    )
    const found = reply()
    onOutcome(outcomeOf(ctx, readState(ctx.store, to.id), found, messageId, whyNot))
    if (found === undefined) return
    ctx.store.mail.remove(from.id, found.message_id)
    // No log has its id: a power cut that brings the file back would bring the reply a second time.
    ctx.store.mail.syncRemovals(from.id)
  } finally {
    await edge.release()
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
  const failure = new SubstratError('PROVIDER_FAILED', reply.content, { facts: { agent_id: to.id } })
  return { result, failure }
}

function notYet(to: State, messageId: string, why: string | undefined): SubstratError {
  const message = `${nameOf(to)} has not replied yet: ${why ?? 'the wait was stopped'}`
  return new SubstratError('WAITING', message, {
    hint: `its reply goes to the sender's inbox; see substrat show ${wordOf(to)}`,
    facts: { agent_id: to.id, message_id: messageId },
  })
}
