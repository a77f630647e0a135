/**
 * The work of a command on one agent, and then what it caused: mail for that agent, and for others. The exit status is
 * that of the command's own turn: what fails behind its outcome, in the turns of messages, is only said.
 */
import type { Context } from './context.js'
import type { OnOutcome, Outcome } from './outcome.js'

export async function withDrain(
  ctx: Context,
  agentId: string,
  onOutcome: OnOutcome,
  work: (onOutcome: OnOutcome) => Promise<void>,
): Promise<void> {
  let told: Outcome | undefined
  try {
    await work((outcome) => {
      told = outcome
      onOutcome(outcome)
    })
    // Somebody who has stopped the turn wants the agent at rest.
    if (told?.wasStopped !== true) wakeIfPending(ctx, agentId)
  } catch (error) {
    if (told === undefined) throw error
    ctx.reporter.note(`messages may still wait for agent ${agentId}: ${(error as Error).message}`)
  } finally {
    await ctx.deliveries.untilIdle()
  }
}

/** After the lock is released: see `Deliveries`. */
function wakeIfPending(ctx: Context, agentId: string): void {
  if (ctx.deliveries.hasWork(agentId)) ctx.deliveries.wake(agentId)
}
