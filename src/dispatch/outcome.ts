/** The outcome of an operation: the result for stdout, and the failure that sets a nonzero exit status. */
import { clock, readableTime } from '../clock.js'
import { type ErrorCode, SubstratError, shellWord } from '../errors.js'
import { limits } from '../limits.js'
import type { TurnResult } from '../schema/output.js'
import { causeOf, WHY_STOPPED } from '../schema/reasons.js'
import type { FailureType } from '../schema/words.js'
import { refillText } from '../session/budget/caps.js'
import {
  addressOf,
  decideUnknown,
  type NextStep,
  stepAfterTurn,
  stepAtLimit,
  UNKNOWN,
} from '../session/causes.js'
import type { PastRun } from '../session/past-run.js'
import { readRecordText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Run, State, Wait } from '../session/state.js'
import { isInterrupted } from '../session/status.js'
import { troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'
import type { StopSignal } from '../turn/stop.js'
import type { Context } from './context.js'
import { awaitedThing, decisionCommands, turnObstacle } from './turn-obstacle.js'
import { viewEndedRun } from './view.js'

export interface Outcome {
  result: TurnResult
  /** Undefined on success. */
  failure?: SubstratError | undefined
  wasStopped?: boolean
  /** The message was not delivered, because a person must first say what becomes of the parked turn. */
  isUndecided?: boolean
}

export type OnOutcome = (outcome: Outcome) => void

/** The outcome of a run that has just ended in this process. */
export function outcomeOf(ctx: Context, session: Session, run: Run): Outcome {
  const said =
    run.said === undefined ? null : readRecordText(ctx.store, session.id, session.recordAt(run.said))
  const failure = failureOfLatest(ctx.store, session.state, run, ctx.shutdown.requested, said)
  return {
    result: viewEndedRun(ctx.store, session.state, run, session),
    failure,
    wasStopped: wasStopped(run),
  }
}

/** Whether a command or signal stopped the turn. Then the agent gets no further turn, and its mail stays pending. */
export function wasStopped(run: Run): boolean {
  return run.status === 'interrupted' || run.reason === 'terminated' || run.reason === 'cancelled'
}

/** The agent as a word of a command in a hint. */
export function wordOf(state: State): string {
  return shellWord(addressOf(state))
}

/** The hint for a keyed message that a later turn followed. It does not run again without `--retry`. */
export const ASK_AGAIN = 'to run it again, repeat the same substrat send and add --retry'

/** Why a run did not succeed; undefined if it did. */
export function failureOf(
  state: State,
  run: Run | PastRun,
  signal: StopSignal | undefined,
  /** The text of the model before its refusal. */
  said = typeof run.said === 'string' ? run.said : null,
  /** `retry` repeats only the latest turn. */
  isLatest = true,
): SubstratError | undefined {
  const agent = state.path
  const facts = { agent, run_id: run.run_id }
  const wait = 'wait' in run ? run.wait : null
  if (run.status === 'open' && wait !== null) return waitingFor(state, wait, facts)
  switch (run.status) {
    case 'completed':
      return undefined
    case 'failed':
      return failedRunError(state, run, facts, said, stepAfterRun(addressOf(state), run, isLatest))
    case 'cancelled':
      return run.reason === 'turn_timeout'
        ? new SubstratError('TIMED_OUT', `the turn of ${agent} was stopped: ${troubleOf(run)}`, {
            hint: stepAfterRun(addressOf(state), run, isLatest),
            facts,
          })
        : new SubstratError('CANCELLED', `the turn of ${agent} was cancelled: ${troubleOf(run)}`, {
            hint: stepAfterRun(addressOf(state), run, isLatest),
            facts,
          })
    default:
      return interruption(state, run, signal, facts)
  }
}

/** The same for the latest run. If it stays interrupted, the error says why no command continues it. */
export function failureOfLatest(
  store: Pick<Store, 'isShared'>,
  state: State,
  run: Run,
  signal: StopSignal | undefined,
  said: string | null = null,
): SubstratError | undefined {
  const failure = failureOf(state, run, signal, said)
  const why = isInterrupted(state) ? whyNotContinued(store, state) : undefined
  if (failure?.code !== 'INTERRUPTED' || why === undefined) return failure
  const { message, hint, facts } = failure
  return new SubstratError('INTERRUPTED', `${message}; ${why}`, {
    ...(hint === undefined ? {} : { hint }),
    facts,
  })
}

/** Why the interrupted latest turn is not continued; undefined if the next command continues it. */
export function whyNotContinued(store: Pick<Store, 'isShared'>, state: State): string | undefined {
  if (!isInterrupted(state)) return `not continued until a person decides: ${troubleOf(state.run as Run)}`
  const obstacle = turnObstacle(store, state, 'continuation')
  switch (obstacle?.kind) {
    case 'exhausted':
      return `not continued: ${limits.barrenAttemptsMax} attempts made no progress`
    case 'hold':
    case 'gate':
      return `not continued: the agent is ${obstacle.is}`
    case 'host':
      return `not continued here: the agent belongs to the host ${obstacle.host}`
    default:
      return undefined
  }
}

/** A parked run has not failed, but has not succeeded yet, so it exits nonzero. */
function waitingFor(state: State, wait: Wait, facts: { agent: string; run_id: string }): SubstratError {
  const [agent, word] = [state.path, wordOf(state)]
  if (wait.kind === 'not_before') {
    const at = wait.not_before ?? ''
    const isOver = Date.parse(at) <= clock.now()
    const message = isOver
      ? `${agent} was rate limited until ${readableTime(at)}; its turn can continue now`
      : `${agent} is rate limited; its turn can continue at ${readableTime(at)}`
    return new SubstratError('NOT_BEFORE', message, {
      hint: `${stepAtLimit(addressOf(state), at, isOver).sentence}, or substrat recover --all from cron`,
      facts: { ...facts, not_before: wait.not_before },
    })
  }
  if (wait.kind === 'budget') return overBudget(state, wait, facts)
  const until = readableTime(wait.deadline_at ?? '')
  const message = `the turn of ${agent} is waiting for ${awaitedThing(wait)} until ${until}`
  return new SubstratError('WAITING', message, {
    hint: decisionCommands(word, wait),
    facts: { ...facts, token_id: wait.resume_token_id, deadline_at: wait.deadline_at },
  })
}

function overBudget(state: State, wait: Wait, facts: { agent: string; run_id: string }): SubstratError {
  const { not_before, why = 'a budget is used up' } = wait
  const isOver = not_before !== null && Date.parse(not_before) <= clock.now()
  const refill = isOver ? 'its turn can continue now' : refillText(not_before)
  const word = wordOf(state)
  const wait_for =
    not_before === null
      ? ''
      : `${isOver ? '' : `wait until ${readableTime(not_before)}, then `}continue it: substrat resume ${word}; or now: `
  return new SubstratError('WAITING', `the turn of ${state.path} waits for ${why}; ${refill}`, {
    hint: `${wait_for}${decisionCommands(word, wait)}`,
    facts: { ...facts, token_id: wait.resume_token_id, not_before },
  })
}

export function codeOfFailure(type: FailureType): ErrorCode {
  return CODE_OF_FAILURE[type] ?? 'PROVIDER_FAILED'
}

const CODE_OF_FAILURE: Partial<Record<FailureType, ErrorCode>> = {
  authentication: 'PROVIDER_MISCONFIGURED',
  misconfigured: 'PROVIDER_MISCONFIGURED',
  billing: 'PROVIDER_MISCONFIGURED',
  timeout: 'TIMED_OUT',
  busy: 'LOCKED',
}

function failedRunError(
  state: State,
  run: Run | PastRun,
  facts: { agent: string; run_id: string },
  said: string | null,
  hint: string,
): SubstratError {
  const error = run.error ?? UNKNOWN
  const { type } = error
  return new SubstratError(codeOfFailure(type), `the turn of ${state.path} failed: ${causeOf(error)}`, {
    hint,
    facts: { ...facts, type, ...(said === null ? {} : { said }) },
  })
}

/** The next step in a sentence. After a later turn, only the keyed message itself can run again. */
function stepAfterRun(agent: string, run: Run | PastRun, isLatest: boolean): string {
  if (!isLatest) return run.key === null ? `see what it did: substrat log ${shellWord(agent)}` : ASK_AGAIN
  const hasLaunched = 'records' in run ? run.records.some(isLaunch) : run.hasLaunched
  return (stepAfterTurn({ ...run, hasLaunched }, agent) as NextStep).sentence
}

function isLaunch({ kind }: SessionRecord): boolean {
  return kind === 'provider.started'
}

function interruption(
  state: State,
  run: Run | PastRun,
  signal: StopSignal | undefined,
  facts: { agent: string; run_id: string },
): SubstratError {
  const host = 'host_id' in run && run.reason === 'other_host' ? (run.host_name ?? run.host_id) : undefined
  const hint =
    host === undefined
      ? run.reason === 'unknown_tool'
        ? decideUnknown(addressOf(state))
        : `continue it: substrat resume ${wordOf(state)}`
      : `if that host is down: substrat recover --host-gone ${shellWord(host)}; otherwise recover it there`
  if ((run.reason === 'shutdown' || run.reason === 'unknown_tool') && signal !== undefined) {
    const why = run.reason === 'unknown_tool' ? `; ${troubleOf(run)}` : ''
    return new SubstratError(
      `STOPPED_${signal}`,
      `stopped by ${signal}: the turn of ${state.path} is interrupted and saved${why}`,
      { hint, facts },
    )
  }
  return new SubstratError(
    'INTERRUPTED',
    `the turn of ${state.path} was interrupted: ${troubleOf(run) ?? WHY_STOPPED.process_exit}`,
    {
      hint,
      facts: { ...facts, reason: run.reason, ...(host === undefined ? {} : { host }) },
    },
  )
}
