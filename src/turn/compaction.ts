/** Makes a conversation shorter for a turn whose model finds it too long. */
import type { ModelProvider } from '../provider/contract.js'
import { type FailureReport, saysNothing } from '../provider/failure.js'
import { causeOf } from '../session/causes.js'
import type { Session } from '../session/session.js'
import type { UncaughtErrors } from './ask/uncaught-errors.js'
import type { TurnPorts } from './ports.js'
import { compact } from './prompt/compact.js'
import { usedByRequest } from './step/records.js'
import type { TurnEvent } from './step/turn-event.js'
import type { TurnStop } from './stop.js'

/** The turn whose conversation is too long. */
interface Owner {
  stop: TurnStop
  uncaught: UncaughtErrors
  takeSlot(): Promise<void>
  releaseSlot(): Promise<void>
}

export class Compaction {
  /** The overflow before the first request for a summary is not one of them. */
  private consecutiveFailures = 0

  constructor(
    private readonly session: Session,
    private readonly ports: TurnPorts,
    private readonly turn: Owner,
  ) {}

  async run(provider: ModelProvider): Promise<TurnEvent> {
    const { stop, uncaught } = this.turn
    await this.turn.takeSlot()
    this.ports.note('the conversation is too long for the model: compacting it')
    const compacted = await compact(this.session, provider, this.ports.settings, {
      signal: stop.signal,
      uncaught,
    })
    const used = usedByRequest(compacted)
    if (stop.signal.aborted)
      return { type: 'stopped', reason: stop.reason(), state: null, result: null, ...used }
    if (compacted.type === 'compacted') {
      this.consecutiveFailures = 0
      return compacted
    }
    await this.turn.releaseSlot()
    const saidNothing = compacted.type === 'none' || saysNothing(compacted.error)
    // The stop signal may also have killed a process that connects to the model. After a signal, no request is retried.
    if (saidNothing && (await stop.isShuttingDown(false)))
      return { type: 'stopped', reason: 'shutdown', state: null, result: null, ...used }
    if (compacted.type === 'failed') return this.failedSummary(compacted)
    const message = 'the conversation is too long for the model, and could not be made shorter'
    return { type: 'failed', error: { type: 'overflow', message }, ...used }
  }

  /** A request for a summary is retried like any other, and ends the turn under its own cause. */
  private failedSummary({ retryAfterMs, type: _, ...failed }: FailureReport & { type: 'failed' }): TurnEvent {
    const plan = this.ports.planRetry(failed.error, this.consecutiveFailures++, retryAfterMs)
    if (plan.retryInMs !== null)
      this.ports.note(`${causeOf(failed.error)}; trying again in ${plan.retryInMs / 1000} s`)
    const message = `${failed.error.message} (request for a summary of the conversation, which is too long)`
    return { type: 'model_failed', ...failed, error: { ...failed.error, message }, plan, isSummary: true }
  }
}
