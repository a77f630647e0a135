/**
 * `send` in the name of an agent: from a shell in one of its tools, or by a person with `--from`. The rules of the tree
 * hold, and the message goes through the inbox.
 */
import { randomUUID } from 'node:crypto'
import { SubstratError } from '../errors.js'
import type { Message } from '../mail/message.js'
import { post } from '../mail/post.js'
import type { State } from '../session/state.js'
import { checkMayWrite } from '../tree/relations.js'
import { checkNoCycle, replyIn } from '../turn/tools/tree/correspondence.js'
import type { Context } from './context.js'
import { readState } from './look.js'
import { nameOf, type Outcome, wordOf } from './outcome.js'
import type { SendRequest } from './send-request.js'
import { viewTurn } from './view.js'

/**
 * A request from a tool is waited for, and its reply is the outcome. What is queued, asks for no reply or is sent by a
 * person for the agent is only stored: the reply is then the agent's own mail.
 */
export async function sendAs(
  ctx: Context,
  senderId: string,
  request: SendRequest,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const from = readState(ctx.store, senderId)
  const to = readState(ctx.store, request.agentId)
  checkMayWrite(from, to)
  try {
    const isLeft = request.isQueued || request.kind !== 'request' || request.notBefore !== null
    if (isLeft || ctx.caller !== senderId) onOutcome(leave(ctx, from, to, request))
    else await converse(ctx, from, to, request, onOutcome)
  } finally {
    await ctx.deliveries.idle()
  }
}

function leave(ctx: Context, from: State, to: State, request: SendRequest): Outcome {
  const messageId = store(ctx, from, to, request)
  ctx.deliveries.wake(to.id)
  ctx.reporter.note(`sent to ${nameOf(to)} as message ${messageId}`)
  return { result: viewTurn(ctx.store, to, null, null) }
}

function store(ctx: Context, from: State, to: State, request: SendRequest): string {
  const message_id = randomUUID()
  post(ctx.store, {
    message_id,
    from: from.id,
    from_path: from.path,
    to: to.id,
    kind: request.kind,
    content: request.content,
    not_before: request.notBefore,
    turn_timeout_ms: request.turnTimeoutMs,
  })
  return message_id
}

/** The reply is taken from the sender's inbox once it is told: what dies before that leaves it there, for a turn. */
async function converse(
  ctx: Context,
  from: State,
  to: State,
  request: SendRequest,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const edge = await ctx.store.waits.add(from.id, to.id, ctx.command)
  try {
    checkNoCycle(ctx.store, from.id, to.id)
    const messageId = store(ctx, from, to, request)
    ctx.shutdown.listen()
    const reply = (): Message | undefined => replyIn(ctx.store, from.id, messageId)
    const whyNot = await ctx.deliveries.runUntil(
      to.id,
      () => reply() !== undefined,
      AbortSignal.any([ctx.shutdown.whenRequested, AbortSignal.timeout(ctx.bounds.turnTimeoutMs)]),
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
