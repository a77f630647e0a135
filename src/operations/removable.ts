/**
 * Whether a terminated agent may be taken away: not while it owes, or is owed, anything, nor while there is a child of
 * it, terminated or not: an agent's parent is there.
 */

import type { Context } from '../dispatch/context.js'
import { wordOf } from '../dispatch/outcome.js'
import { visit } from '../dispatch/visit.js'
import { type ErrorCode, SubstratError } from '../errors.js'
import { reasonToVisit } from '../recovery/visit-reason.js'
import { openForRead } from '../session/load.js'
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import type { Forest } from '../tree/forest.js'

/** Why it stays, for now: the end of a sentence, and the next command. */
export interface RemovalObstacle {
  code: ErrorCode
  why: string
  hint: string
}

/** By what is on disk now. Undefined where it may go. */
export function removalObstacle(store: FileStore, state: State): RemovalObstacle | undefined {
  const word = wordOf(state)
  if (state.state !== 'terminated')
    return { code: 'SESSION_STATE', why: 'it is not terminated', hint: `substrat terminate ${word}` }
  const hint = `substrat recover ${state.id}`
  const reason = reasonToVisit(store, state)
  if (reason === 'outbox') return { code: 'SESSION_STATE', why: 'it still has an answer to send', hint }
  const [mail] = store.mail.ids(state.id)
  if (reason === 'mail' && mail !== undefined) {
    const why = `a message is still in its inbox: ${store.mail.pathOf(state.id, mail)}`
    return { code: 'SESSION_STATE', why, hint: `${hint}; move a damaged message away yourself` }
  }
  if (reason !== undefined || store.isMarked(state.id))
    return { code: 'SESSION_STATE', why: 'it may still have work to finish', hint }
  return undefined
}

/** Those of its children that nothing takes away with it. */
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

/** What a dead process left it owing goes out, so that it can go. */
export async function flushTerminated(ctx: Context, state: State): Promise<void> {
  if (state.state !== 'terminated' || removalObstacle(ctx.store, state) === undefined) return
  await visit(ctx, state.id, { waitMs: ctx.bounds.waitMs, goesOn: false }, async () => undefined)
}

/**
 * Gone when it returns. Looked at once more under its lock. Throws what `removalObstacle` says, LOCKED, and what
 * `isGone` knows.
 */
export async function removeAgent(ctx: Context, state: State): Promise<void> {
  const { store } = ctx
  const lease = await store.lockAgent(state.id, ctx.command, ctx.bounds.waitMs)
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
    lease.assertHeld()
    store.removeAgent(state.id)
  } finally {
    await lease.release()
  }
}

/** Whether it failed because another process has taken the agent away meanwhile: what was wanted is done. */
export function isGone(error: unknown): boolean {
  return error instanceof SubstratError && error.code === 'AGENT_NOT_FOUND'
}

export function keptError(state: State, { code, why, hint }: RemovalObstacle): SubstratError {
  return new SubstratError(code, `${state.path} was not removed: ${why}`, {
    hint,
    facts: { agent_id: state.id },
  })
}
