/**
 * The other half of the lost-wake-up rule: after the lock is released the inbox is looked at again, because a sender that
 * found it locked has left its message to us.
 */
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { countPending } from '../mail/inbox.js'
import { openForRead } from '../session/open-for-read.js'
import type { Context } from './context.js'
import { advance } from './go-on.js'
import { visit } from './visit.js'

export async function drainLater(ctx: Context, agentId: string): Promise<void> {
  for (let turnsLeft = limits.turnsDrainedMax; turnsLeft > 0 && hasMail(ctx, agentId); ) {
    try {
      const turns = await visit(ctx, agentId, { waitMs: 0, goesOn: true }, (session, settled) =>
        advance(ctx, session, settled, turnsLeft),
      )
      if (turns === 0) return
      turnsLeft -= turns
    } catch (error) {
      // Whoever holds it now looks at the inbox after us.
      if (error instanceof SubstratError && error.code === 'LOCKED') return
      ctx.reporter.note(`messages still wait for agent ${agentId}: ${(error as Error).message}`)
      return
    }
  }
}

function hasMail(ctx: Context, agentId: string): boolean {
  if (ctx.shutdown.requested !== undefined) return false
  const state = openForRead(ctx.store, agentId)?.state
  return (
    state !== undefined && state.state !== 'terminated' && !state.hold && countPending(ctx.store, state) > 0
  )
}
