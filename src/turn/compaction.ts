/**
 * Makes a conversation shorter for a turn whose request is refused.
 *
 * Invariant: the shorter conversation is tried first. Its record is in the batch of the model's response, so a request that fails
 * again leaves the whole conversation. After a kill the log is in row C of the recovery table until then: the turn asks with the
 * whole conversation again.
 */
import { shellWord } from '../errors.js'
import { limits } from '../limits.js'
import type { ModelProvider, ProviderSettings } from '../provider/contract.js'
import { type FailureReport, saysNothing } from '../provider/failure.js'
import { causeOf } from '../schema/reasons.js'
import type { RunError } from '../schema/types.js'
import type { ErrorDetail } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { UncaughtErrors } from './ask/uncaught-errors.js'
import type { TurnPorts } from './ports.js'
import { droppedInARow, wasAnsweredBefore } from './prompt/answered-before.js'
import { type Compacted, compact, shortest } from './prompt/compact.js'
import { usedByRequest } from './step/records.js'
import type { Shorter, TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'

/** The turn whose conversation is too long. */
interface Owner {
  stop: TurnStop
  uncaught: UncaughtErrors
  takeSlot(): Promise<void>
  releaseSlot(): Promise<void>
  /** The settings of a request that a budget bounds. */
  bounded(settings: ProviderSettings): ProviderSettings
}

type Failed = { error: RunError } & ErrorDetail

export class Compaction {
  /** The conversation that the next request tries. */
  tried: Shorter | undefined
  /** How many shorter conversations this request has tried. */
  trials = 0
  /** The overflow before the first request for a summary is not one of them. */
  private consecutiveFailures = 0
  /** Why the whole conversation was refused. */
  private refusal: RunError | undefined

  constructor(
    private readonly session: Session,
    private readonly ports: TurnPorts,
    private readonly turn: Owner,
  ) {}

  /** `hold`: undefined once the budgets allow the request for a summary. Otherwise the event that ends or parks the turn. */
  async run(provider: ModelProvider, hold: () => Promise<TurnEvent | undefined>): Promise<TurnEvent> {
    const { stop, uncaught } = this.turn
    await this.turn.takeSlot()
    this.ports.note(`${this.refusedBecause()}: compacting it`)
    const ends = { signal: stop.signal, uncaught }
    let heldUp: TurnEvent | undefined
    const { settings } = this.ports
    const begin = async (): Promise<ProviderSettings | undefined> => {
      heldUp = await hold()
      return heldUp === undefined ? this.turn.bounded(settings) : undefined
    }
    const compacted: Compacted =
      this.trials === 0
        ? await compact(this.session, provider, settings, ends, undefined, begin)
        : { type: 'none' }
    if (heldUp !== undefined) return heldUp
    const used = usedByRequest(compacted)
    if (stop.signal.aborted)
      return { type: 'stopped', reason: stop.reason(), state: null, result: null, ...used }
    const shorter = compacted.type === 'none' ? shortest(this.session, this.tried) : compacted
    if (shorter.type === 'compacted') {
      this.consecutiveFailures = 0
      const { type: _, ...tried } = shorter
      this.tried = tried
      this.trials += 1
      return { type: 'shortened', shorter: tried }
    }
    await this.turn.releaseSlot()
    if (shorter.type === 'failed') {
      // The stop signal may also have killed a process that connects to the model. After a signal, no request is retried.
      if (saysNothing(shorter.error) && (await stop.isShuttingDown(false)))
        return { type: 'stopped', reason: 'shutdown', state: null, result: null, ...used }
      return this.failedSummary(shorter)
    }
    const { type = 'overflow', message } = this.refusal ?? {
      message: 'the conversation is too long for the model',
    }
    return {
      type: 'failed',
      error: { type, message: `${message}, and it could not be made shorter` },
      ...used,
    }
  }

  /** The shorter conversation was answered: its record comes before that of the response. */
  adopt(): { compacted?: Shorter } {
    const { tried } = this
    this.tried = undefined
    this.trials = 0
    return tried === undefined ? {} : { compacted: tried }
  }

  /** Adds the facts by which `step` decides. */
  afterFailure(failed: Failed): Failed & { trials: number; wasAnswered: boolean; droppedInARow: number } {
    const { trials, session } = this
    const { error } = failed
    if (trials === 0) this.refusal = error
    const wasAnswered = trials === 0 && error.type === 'invalid' && wasAnsweredBefore(session)
    const mayRepeat = trials === 0 && (error.type === 'overflow' || wasAnswered)
    const inARow = mayRepeat ? droppedInARow(session) : 0
    const told = inARow < limits.droppedInARowMax ? this.withTheTrials(failed) : withTheRow(failed, inARow)
    return { ...told, trials, wasAnswered, droppedInARow: inARow }
  }

  private withTheTrials(failed: Failed): Failed {
    const { error } = failed
    if (this.trials < limits.shorterTrialsMax || !['overflow', 'invalid'].includes(error.type)) return failed
    return {
      ...failed,
      error: {
        ...error,
        message: `${error.message} (${this.trials} shorter conversations were refused too)`,
      },
    }
  }

  private refusedBecause(): string {
    if (this.trials > 0) return 'the service also refuses the shorter conversation'
    return this.refusal?.type === 'invalid'
      ? 'the service refuses a conversation that it has answered before'
      : 'the conversation is too long for the model'
  }

  /** A request for a summary is retried like any other, and ends the turn under its own cause. */
  private failedSummary({ retryAfterMs, type: _, ...failed }: FailureReport & { type: 'failed' }): TurnEvent {
    const plan = this.ports.planRetry(failed.error, this.consecutiveFailures++, retryAfterMs)
    if (plan.retryInMs !== null)
      this.ports.note(`${causeOf(failed.error)}; trying again in ${plan.retryInMs / 1000} s`)
    const why = this.refusal?.type === 'invalid' ? 'was refused' : 'is too long'
    const without = `substrat compact ${shellWord(this.session.state.path)} --drop`
    const message = `${failed.error.message} (request for a summary of the conversation, which ${why}; without a summary: ${without})`
    return { type: 'model_failed', ...failed, error: { ...failed.error, message }, plan, isSummary: true }
  }
}

function withTheRow(failed: Failed, inARow: number): Failed {
  const { error } = failed
  const why = `the results of its calls were refused and left out ${inARow} times in a row`
  return { ...failed, error: { ...error, message: `${error.message} (${why})` } }
}
