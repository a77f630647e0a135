/** `deliver` of one agent at a terminal: its turns that wait for the person are decided here, and its mail goes on after each. */
import type { Context } from '../dispatch/context.js'
import { failureOfLatest } from '../dispatch/outcome.js'
import { readState } from '../dispatch/read-state.js'
import { resultEnd } from '../dispatch/result-end.js'
import { viewAgent, viewRun } from '../dispatch/view.js'
import { type DeliverListener, type DeliverRequest, deliver } from '../operations/deliver.js'
import { decisionOf, isDecidable } from './asking.js'

type Delivered = Parameters<DeliverListener>

/** Calls back once for the named agent: when no turn of it waits, or the person decides later. */
export async function deliverAndAsk(
  ctx: Context,
  request: DeliverRequest,
  onAgent: DeliverListener,
): Promise<void> {
  const [agentId] = request.agentIds as [string]
  const { usage, run: parked } = readState(ctx.store, agentId)
  const before = (usage?.runs ?? 0) - (parked?.status === 'open' ? 1 : 0)
  let latest: Delivered | undefined
  const take: DeliverListener = (delivered, failure) => {
    if (delivered.agent === agentId) latest = [delivered, failure]
    else onAgent(delivered, failure)
  }
  await deliver(ctx, request, take)
  while (latest !== undefined && ctx.shutdown.requested === undefined) {
    const [delivered, failure]: Delivered = latest
    const next = isDecidable(failure, delivered.run) ? await decisionOf(ctx, agentId) : 'later'
    if (typeof next === 'string') break
    await next(() => undefined)
    // The decision has also run mail, and more may be pending.
    await deliver(ctx, request, take)
    latest = latest && sinceBegin(ctx, latest, before)
  }
  if (latest !== undefined) onAgent(...latest)
}

/** The result of all turns of this command. Each `deliver` knows only its own. */
function sinceBegin(ctx: Context, [delivered, failure]: Delivered, before: number): Delivered {
  const state = readState(ctx.store, delivered.agent)
  const { run } = state
  const { status, shown_status, inbox } = viewAgent(ctx.store, state)
  const turns = (state.usage?.runs ?? 0) - before
  const ofRun = run === null ? undefined : failureOfLatest(ctx.store, state, run, ctx.shutdown.requested)
  const all = failure ?? ofRun
  return [
    {
      ...delivered,
      ...{ status, shown_status, inbox, run: run && viewRun(run) },
      turns: Math.max(1, turns),
      ...resultEnd(all),
    },
    all,
  ]
}
