/** `gate` and `ungate`: block and unblock the turns of an agent. A gated agent still accepts mail. */

import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import { deliveryWaitMs, visit } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { post } from '../mail/post.js'
import type { GatedAgent } from '../schema/output.js'
import type { State } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { checkIsChild } from '../tree/relations.js'

/**
 * Stores a control in the agent's inbox. It takes effect at once if the lock is free; otherwise the holder applies it
 * before its next turn. In a tool, an agent may gate only its children. Throws TREE_RULES, UNDELIVERABLE.
 */
export async function setGate(ctx: Context, agentId: string, verb: 'gate' | 'ungate'): Promise<GatedAgent> {
  const message_id = randomUuid()
  const before = readState(ctx.store, agentId)
  post(ctx.store, {
    message_id,
    ...senderOf(ctx, before, verb),
    to: agentId,
    kind: 'control',
    content: '',
    control: { verb },
  })
  const applied = await isObeyed(ctx, before)
  const state = readState(ctx.store, agentId)
  if (!applied) ctx.reporter.note(`${state.path} is running a turn; ${verb} takes effect when the turn ends`)
  if (verb === 'ungate') ctx.deliveries.wake(agentId)
  return { agent: viewAgent(ctx.store, state), gated: state.gate.isGated, applied }
}

function senderOf(ctx: Context, agent: State, verb: string): { from: string; from_path: string } {
  if (ctx.caller === null) return { from: OPERATOR, from_path: OPERATOR }
  const caller = readState(ctx.store, ctx.caller)
  checkIsChild(caller, agent, verb)
  return { from: caller.id, from_path: caller.path }
}

async function isObeyed(ctx: Context, state: State): Promise<boolean> {
  try {
    // Each visit applies pending controls.
    await visit(ctx, state.id, { waitMs: deliveryWaitMs(state), continuesTurn: false }, async () => undefined)
    return true
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'LOCKED') return false
    throw error
  }
}
