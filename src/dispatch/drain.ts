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
import { type Outcome, wasStopped } from './outcome.js'
import { visit } from './visit.js'

/**
 * The work of a command on one agent, and then what waits for that agent. The exit status is that of the command's own
 * turn: what fails behind its outcome, in the turns of queued messages, is only said.
 */
export async function withDrain(
  ctx: Context,
  agentId: string,
  onOutcome: (outcome: Outcome) => void,
  work: (onOutcome: (outcome: Outcome) => void) => Promise<void>,
): Promise<void> {
  let told: Outcome | undefined
  try {
    await work((outcome) => {
      told = outcome
      onOutcome(outcome)
    })
  } catch (error) {
    if (told === undefined) throw error
    noteRemaining(ctx, agentId, error)
    return
  }
  if (told?.wasStopped !== true) await drainLater(ctx, agentId)
}

/** How long a holder that has no turn, such as `set`, is waited for: it does not look at the inbox after itself. */
const SHORT_HOLD_MS = 2000

export async function drainLater(ctx: Context, agentId: string): Promise<void> {
  for (let turnsLeft = limits.turnsDrainedMax; turnsLeft > 0 && hasMail(ctx, agentId); ) {
    const waitMs = hasTurn(ctx, agentId) ? 0 : SHORT_HOLD_MS
    try {
      const turns = await visit(ctx, agentId, { waitMs, goesOn: true }, async (session, settled) => {
        const taken = await advance(ctx, session, settled, turnsLeft)
        const { run } = session.state
        return run !== null && wasStopped(run) ? 0 : taken
      })
      if (turns === 0) return
      turnsLeft -= turns
    } catch (error) {
      // Whoever has a turn there now looks at the inbox after it.
      if (error instanceof SubstratError && error.code === 'LOCKED') return
      noteRemaining(ctx, agentId, error)
      return
    }
  }
}

function noteRemaining(ctx: Context, agentId: string, error: unknown): void {
  ctx.reporter.note(`messages may still wait for agent ${agentId}: ${(error as Error).message}`)
}

function hasTurn(ctx: Context, agentId: string): boolean {
  return openForRead(ctx.store, agentId)?.state.run?.status === 'open'
}

function hasMail(ctx: Context, agentId: string): boolean {
  if (ctx.shutdown.requested !== undefined) return false
  const state = openForRead(ctx.store, agentId)?.state
  return (
    state !== undefined && state.state !== 'terminated' && !state.hold && countPending(ctx.store, state) > 0
  )
}
