/** A person's message left in the inbox: for the turn after the one that runs, or for a time. */
import { readableTime } from '../clock.js'
import { OPERATOR } from '../format.js'
import { findPending } from '../mail/inbox.js'
import { post } from '../mail/post.js'
import { digestOf } from '../session/ids.js'
import { openDurable, openForRead } from '../session/open-for-read.js'
import type { State } from '../session/state.js'
import { isUnfinished } from '../session/status.js'
import { randomUuid } from '../start/random.js'
import { answeredInLog, isOwnTurn, keyConflict, nextIdOfKey } from './answered.js'
import type { Context } from './context.js'
import { nameOf, type Outcome } from './outcome.js'
import type { SendRequest } from './send-request.js'
import { turnObstacle } from './turn-obstacle.js'
import { viewTurn } from './view.js'

/** Stored when it returns; whoever holds the agent takes it after the turn that it is in. */
export function queue(ctx: Context, request: SendRequest): Outcome {
  const { store } = ctx
  const open = request.key === null ? openForRead : openDurable
  const state = open(store, request.agentId)?.state as State
  const taken = answeredInLog(ctx, state, request) ?? beingAnswered(ctx, state, request)
  if (taken !== undefined) return taken
  const { key, content, kind, notBefore } = request
  const messageId = key === null ? randomUuid() : nextIdOfKey(store, state, key)
  const isNew = post(store, {
    message_id: messageId,
    from: OPERATOR,
    from_path: OPERATOR,
    to: state.id,
    kind,
    content,
    key,
    not_before: notBefore?.at ?? null,
    clock: notBefore?.clock ?? null,
    turn_timeout_ms: request.turnTimeoutMs,
  })
  const stored = isNew ? undefined : findPending(store, state, messageId)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(state, request)
  ctx.reporter.note(
    `queued as message ${messageId}: ${nameOf(state)} takes it ${whenDelivered(state, notBefore)}`,
  )
  return { result: viewTurn(store, state, null, null) }
}

function whenDelivered(state: State, notBefore: SendRequest['notBefore']): string {
  if (notBefore !== null) return `at ${readableTime(notBefore.at)}, with the next substrat deliver --all`
  const obstacle = turnObstacle(state, 'mail')
  switch (obstacle?.kind) {
    case 'wait':
      return 'after the turn that waits'
    case 'hold':
    case 'gate':
      return `once it is ${obstacle.until}`
    case 'program':
      return 'once it is resumed'
    default:
      return state.run?.status === 'open' ? 'after the turn that it is in' : 'in a turn of its own'
  }
}

/** The message is in the log already, and its turn is not over. */
function beingAnswered(ctx: Context, state: State, request: SendRequest): Outcome | undefined {
  const { run } = state
  if (!isOwnTurn(state, request) || !isUnfinished(state)) return undefined
  ctx.reporter.note(`this message was sent before, with the same key, and its turn is not over`)
  return { result: viewTurn(ctx.store, state, run, null) }
}
