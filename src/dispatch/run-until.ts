/** Runs turns of another agent until it answers. If another process holds that agent, waits for that process. */
import { sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { openForRead } from '../session/load.js'
import type { State, Wait } from '../session/state.js'
import { isDue, isPaused } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { visitAndAdvance } from './advance.js'
import type { Context } from './context.js'
import { TurnBudget } from './turn-budget.js'
import { awaitedThing, turnObstacle } from './turn-obstacle.js'

const PAUSE_MS_MAX = 100

/** Returns undefined once `isAnswered`, or the reason why there is no answer yet. */
export async function runUntil(
  ctx: Context,
  agentId: string,
  isAnswered: () => boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
    if (isAnswered()) return undefined
    if (signal.aborted) return 'the wait was stopped'
    const turns = await unlessStopped(ctx.deliveries.join(tryTurn(ctx, agentId)), signal)
    if (isAnswered()) return undefined
    if (typeof turns === 'string') return turns
    // No turn starts after a stop signal, so an answer can come only from a later command.
    if (turns !== undefined && ctx.shutdown.requested !== undefined)
      return 'substrat received a stop signal and starts no turn'
    // There was no work and there is no answer: report what the agent needs.
    if (turns === 0) {
      const why = whyNoTurn(ctx.store, openForRead(ctx.store, agentId)?.state)
      if (why !== undefined) return why
    }
    if ((turns === undefined || turns === 0) && !signal.aborted) await sleep(pauseMs)
  }
}

/** A turn that has started runs to its end, even if the wait for it is stopped. */
function unlessStopped<T>(turn: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => resolve(undefined)
    signal.addEventListener('abort', onStop, { once: true })
    turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', onStop))
  })
}

/** Returns the number of turns, at most one; undefined if another process holds the agent; or an error message. */
async function tryTurn(ctx: Context, agentId: string): Promise<number | undefined | string> {
  try {
    return await visitAndAdvance(ctx, agentId, { waitMs: 0, budget: new TurnBudget(1) })
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return error.code === 'LOCKED' ? undefined : error.message
  }
}

function whyNoTurn(store: Store, state: State | undefined): string | undefined {
  const obstacle = state === undefined ? undefined : turnObstacle(store, state, 'mail')
  if (state === undefined || obstacle?.kind === 'terminated') return 'it is terminated'
  switch (obstacle?.kind) {
    case 'wait':
      return whyParked(obstacle.wait)
    case 'hold':
    case 'gate':
      return `it is ${obstacle.is}`
    case 'host':
      return `it belongs to the host ${obstacle.host}`
    case 'program':
      return 'a program of its latest turn may still be running'
    case 'unknown':
      return 'the outcome of a tool call of its latest turn is unknown, and a person has to decide'
    default:
      return isPaused(state) ? 'its turn was suspended' : undefined
  }
}

/** Undefined if the time of the wait has come. */
function whyParked(wait: Wait): string | undefined {
  if (wait.kind !== 'not_before') return `it is waiting for ${awaitedThing(wait)}`
  return isDue(wait, readClock()) ? undefined : `it can continue at ${wait.not_before}`
}
