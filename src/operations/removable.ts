/**
 * Whether a terminated agent may be removed. It stays while its outbox or inbox is not empty, and while it has a child,
 * terminated or not, because the parent of each agent must exist.
 */

import { clock } from '../clock.js'
import { arrivedMoves } from '../dispatch/arrive.js'
import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { visit } from '../dispatch/visit.js'
import { type ErrorCode, SubstratError } from '../errors.js'
import { reasonToVisit } from '../recovery/visit-reason.js'
import { openForRead } from '../session/load.js'
import type { State } from '../session/state.js'
import { removedAgentOf } from '../session/usage-sums.js'
import type { Store } from '../storage/store.js'
import { forgetName } from '../tree/children.js'
import type { Forest } from '../tree/forest.js'

/** Why an agent cannot be removed now: the end of a sentence, and the next command. */
export interface RemovalObstacle {
  code: ErrorCode
  why: string
  hint: string
}

/** Undefined if the state and the files allow the removal. */
export function removalObstacle(store: Store, state: State): RemovalObstacle | undefined {
  const word = wordOf(state)
  if (state.state !== 'terminated')
    return { code: 'SESSION_STATE', why: 'it is not terminated', hint: `substrat terminate ${word}` }
  const hint = `substrat recover ${state.id}`
  const reason = reasonToVisit(store, state)
  if (reason === 'outbox') return { code: 'SESSION_STATE', why: 'it still has an answer to send', hint }
  const [mail] = store.mail.ids(state.id)
  if (reason === 'mail' && mail !== undefined) {
    const why = `a message is still in its inbox: ${store.label({ kind: 'message', to: state.id, messageId: mail })}`
    return { code: 'SESSION_STATE', why, hint: `${hint}; move a damaged message away yourself` }
  }
  if (reason !== undefined || store.visits.isMarked(state.id))
    return { code: 'SESSION_STATE', why: 'it may still have work to finish', hint }
  return undefined
}

/** The obstacle that its children are, except those that are removed with it. */
export function childObstacle(
  forest: Forest,
  id: string,
  isGoing: (child: string) => boolean,
): RemovalObstacle | undefined {
  const left = (forest.children.get(id) ?? []).filter((child) => !isGoing(child))
  const [first] = left
  if (first === undefined) return undefined
  const name = forest.agents.get(first)?.path ?? first
  const more = left.length === 1 ? '' : ` and ${left.length - 1} more`
  return {
    code: 'HAS_CHILDREN',
    why: `it has the child ${name}${more}`,
    hint: `remove all together: substrat remove ${id} --recursive`,
  }
}

/** Sends what a dead process left in the agent's outbox, so that the agent can be removed. */
export async function flushTerminated(ctx: Context, state: State): Promise<void> {
  if (state.state !== 'terminated' || removalObstacle(ctx.store, state) === undefined) return
  await visit(ctx, state.id, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async () => undefined)
}

/**
 * Removes the agent after a second check under its lock, then its name. Throws the `removalObstacle`, LOCKED, or an error that
 * `isGone` recognizes.
 *
 * On disk after a crash: the marker, and the agent whole, or only its name. `recover --all` and `deliver --all` follow the marker and
 * remove that name.
 */
export async function removeAgent(ctx: Context, state: State): Promise<void> {
  await removeHeld(ctx, state)
  await forgetName(ctx.store, state, ctx.command)
  ctx.store.visits.unmarkAbsent(state.id)
}

async function removeHeld(ctx: Context, state: State): Promise<void> {
  const { store } = ctx
  const lease = await store.hold(state.id, { command: ctx.command, waitMs: ctx.bounds.waitMs })
  if (lease === undefined) {
    throw new SubstratError('LOCKED', `agent ${state.path} is held by another process`, {
      hint: `see which process: substrat show ${wordOf(state)}`,
      facts: { agent_id: state.id },
    })
  }
  try {
    if (!store.hasAgent(state.id)) return
    const now = openForRead(store, state.id)?.state
    const keep = now === undefined ? undefined : removalObstacle(store, now)
    if (keep !== undefined) throw keptError(state, keep)
    // From here on only these say by which moves the agent came.
    store.moves.add(state.id, arrivedMoves(store, state.id))
    // The agent's usage counts from its log until it is gone, and from here after that.
    if (now !== undefined) store.removed.put(removedAgentOf(store, now, new Date(clock.now()).toISOString()))
    store.visits.mark(state.id)
    store.remove(state.id, lease)
  } finally {
    await lease.release()
  }
}

/** Whether another process has removed the agent meanwhile: then there is nothing left to do. */
export function isGone(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'AGENT_NOT_FOUND'
}

export function keptError(state: State, { code, why, hint }: RemovalObstacle): SubstratError {
  return new SubstratError(code, `${state.path} was not removed: ${why}`, {
    hint,
    facts: { agent_id: state.id },
  })
}
