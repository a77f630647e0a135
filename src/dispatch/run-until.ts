/** Another agent's turns, for whoever waits for its answer: run here, where nobody else does it. */
import { sleep } from '../clock.js'
import { SubstratError } from '../errors.js'
import { readClock } from '../host/identity.js'
import { openForRead } from '../session/load.js'
import type { State, Wait } from '../session/state.js'
import { isDue } from '../session/status.js'
import { visitAndAdvance } from './advance.js'
import type { Context } from './context.js'
import { TurnBudget } from './turn-budget.js'
import { turnObstacle } from './turn-obstacle.js'

const PAUSE_MS_MAX = 100

/** Undefined once `isAnswered`; else why the answer does not come for now. */
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
    // No turn is begun after a stop signal: what has ended here without an answer has none before the next command.
    if (turns !== undefined && ctx.shutdown.requested !== undefined)
      return 'substrat received a stop signal and starts no turn'
    // Nothing was to be done, and still there is no answer: somebody has to do something first.
    if (turns === 0) {
      const why = whyNoTurn(openForRead(ctx.store, agentId)?.state)
      if (why !== undefined) return why
    }
    if ((turns === undefined || turns === 0) && !signal.aborted) await sleep(pauseMs)
  }
}

/** A turn that has begun goes on to its end, whether or not somebody still waits for it. */
function unlessStopped<T>(turn: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onStop = (): void => resolve(undefined)
    signal.addEventListener('abort', onStop, { once: true })
    turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', onStop))
  })
}

/** How many turns it took, one at most; undefined where another process has it; else what went wrong. */
async function tryTurn(ctx: Context, agentId: string): Promise<number | undefined | string> {
  try {
    return await visitAndAdvance(ctx, agentId, { waitMs: 0, budget: new TurnBudget(1) })
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    return error.code === 'LOCKED' ? undefined : error.message
  }
}

function whyNoTurn(state: State | undefined): string | undefined {
  const obstacle = state === undefined ? undefined : turnObstacle(state, 'mail')
  if (state === undefined || obstacle?.kind === 'terminated') return 'it is terminated'
  switch (obstacle?.kind) {
    case 'wait':
      return whyParked(obstacle.wait)
    case 'hold':
    case 'gate':
      return `it is ${obstacle.is}`
    case 'program':
      return 'a program of its latest turn may still be running'
    default:
      return undefined
  }
}

/** Undefined where its time has come since. */
function whyParked(wait: Wait): string | undefined {
  if (wait.kind !== 'not_before')
    return `it is waiting for ${wait.kind === 'input' ? 'an answer' : 'approval'}`
  return isDue(wait, readClock()) ? undefined : `it can continue at ${wait.not_before}`
}
