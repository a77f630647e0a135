/** `gate` and `ungate`: whether an agent takes turns. Its mail is kept meanwhile. */

import type { Context } from '../dispatch/context.js'
import { readState } from '../dispatch/read-state.js'
import { type AgentView, viewAgent } from '../dispatch/view.js'
import { deliveryWaitMs, visit } from '../dispatch/visit.js'
import { SubstratError } from '../errors.js'
import { OPERATOR } from '../format.js'
import { post } from '../mail/post.js'
import type { State } from '../session/state.js'
import { randomUuid } from '../start/random.js'
import { checkIsChild } from '../tree/relations.js'

export interface GatedAgent {
  agent: AgentView
  gated: boolean
  /** False while a turn runs: it is obeyed at the end of that. */
  applied: boolean
}

/**
 * Stored in the agent's inbox first, and obeyed at once where nobody has the agent; else by its holder, before the next
 * turn. An agent, in a tool, may do it to its own children. Throws TREE_RULES, UNDELIVERABLE.
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
  if (!applied) ctx.reporter.note(`${state.path} has a turn: it obeys at the end of that`)
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
    // A visit obeys by itself.
    await visit(ctx, state.id, { waitMs: deliveryWaitMs(state), goesOn: false }, async () => undefined)
    return true
  } catch (error) {
    if (error instanceof SubstratError && error.code === 'LOCKED') return false
    throw error
  }
}
