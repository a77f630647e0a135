/** Messages through the inbox of the recipient: the file that is stored, and the outcome for the sender. */
import { readableTime } from '../../clock.js'
import type { Context } from '../../dispatch/context.js'
import { postOnce } from '../../dispatch/effect.js'
import { findKeyedOutcome, isOwnTurn, keyConflict, nextIdOfKey } from '../../dispatch/keyed-message.js'
import type { Outcome } from '../../dispatch/outcome.js'
import { declarationOf, turnObstacle } from '../../dispatch/turn-obstacle.js'
import { viewReceiver, viewTurn } from '../../dispatch/view.js'
import { OPERATOR } from '../../format.js'
import { findPending, type SentMessage } from '../../mail/inbox.js'
import { type Recipient, recipientOf } from '../../mail/post.js'
import { askedOptions } from '../../schema/message.js'
import { digestOf } from '../../session/ids.js'
import { openDurable, withAgent } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { isUnfinished } from '../../session/status.js'
import { randomUuid } from '../../start/random.js'
import type { Store } from '../../storage/store.js'
import type { MessageRequest } from './request.js'

/**
 * Queues a message of the operator, which is durable when it returns. A process that runs a turn of the agent delivers it after that
 * turn.
 */
export function queue(ctx: Context, request: MessageRequest): Outcome {
  const { store } = ctx
  const recipient = request.key === null ? withAgent(store, request.agentId, recipientOf) : undefined
  const state = recipient?.state ?? (openDurable(store, request.agentId)?.state as State)
  const taken = findKeyedOutcome(ctx, state, request) ?? beingAnswered(ctx, state, request)
  if (taken !== undefined) return taken
  const messageId = newId(store, state, request)
  // All that the output needs is read before the message is stored.
  const result = viewReceiver(store, state, sentMessage(messageId, request), recipient?.mailIds)
  storeMessage(store, { id: OPERATOR, path: OPERATOR }, state, request, messageId, recipient)
  ctx.reporter.note(
    `queued as message ${messageId}; ${state.path} will run it ${whenDelivered(store, state, request.notBefore)}`,
  )
  return { result }
}

export function sentMessage(message_id: string, { notBefore }: MessageRequest): SentMessage {
  return { message_id, not_before: notBefore?.at ?? null }
}

/** The same id for the same key, until the key has had its turn. */
export function newId(store: Store, to: State, { key }: MessageRequest): string {
  return key === null ? randomUuid() : nextIdOfKey(store, to, key)
}

/** Stores a message with the same key once. Throws KEY_CONFLICT if another message with the key is pending. */
export function storeMessage(
  store: Store,
  sender: Pick<State, 'id' | 'path'>,
  to: State,
  request: MessageRequest,
  message_id: string,
  recipient?: Recipient,
): void {
  const { content, kind, notBefore } = request
  const draft = {
    message_id,
    from: sender.id,
    from_path: sender.path,
    to: to.id,
    kind,
    content,
    not_before: notBefore?.at ?? null,
    clock: notBefore?.clock ?? null,
    ...askedOptions(request),
  }
  // A delivered message with this key has another id, so the log need not be searched for this one.
  const isNew = postOnce(store, draft, { recipient })
  const stored = isNew ? undefined : findPending(store, to, message_id)
  if (stored !== undefined && stored.digest !== digestOf(content)) throw keyConflict(to, request)
}

function whenDelivered(store: Store, state: State, notBefore: MessageRequest['notBefore']): string {
  if (notBefore !== null) return `after ${readableTime(notBefore.at)}, at the next substrat deliver --all`
  const obstacle = turnObstacle(store, state, 'mail')
  switch (obstacle?.kind) {
    case 'wait':
      return 'after the turn that is waiting'
    case 'hold':
    case 'gate':
      return `once you ${obstacle.until} it`
    case 'host':
      return `at the next substrat deliver --all on the host ${obstacle.host}`
    case 'program':
      return declarationOf(state) === undefined ? 'once you resume it' : 'after its interrupted turn'
    case 'unknown':
      return 'once you resume or cancel its interrupted turn'
    default:
      return state.run?.status === 'open' ? 'after its current turn' : 'in its next turn'
  }
}

/** The outcome if the message is already in the log and its turn has not ended. */
function beingAnswered(ctx: Context, state: State, request: MessageRequest): Outcome | undefined {
  const { run } = state
  if (!isOwnTurn(state, request) || !isUnfinished(state)) return undefined
  ctx.reporter.note(`this message was already sent with this key; its turn has not ended`)
  return { result: viewTurn(ctx.store, state, run, null) }
}
