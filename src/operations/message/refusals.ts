/** Why `send` does not store a message. */

import { type KeyedMessage, nextIdOfKey } from '../../dispatch/keyed-message.js'
import { wordOf } from '../../dispatch/outcome.js'
import { readState } from '../../dispatch/read-state.js'
import { type Closure, declarationOf, refuseElsewhere, turnObstacle } from '../../dispatch/turn-obstacle.js'
import { SessionStateError, SubstratError, shellWord } from '../../errors.js'
import { findPending } from '../../mail/inbox.js'
import { addressOf, decideUnknown } from '../../session/causes.js'
import { digestOf } from '../../session/ids.js'
import type { Run, State } from '../../session/state.js'
import { howEnded } from '../../session/status.js'
import { troubleOf } from '../../session/trouble.js'
import type { Store } from '../../storage/store.js'
import type { StopSignal } from '../../turn/stop.js'
import type { MessageRequest } from './request.js'

/** The place of a message that did not begin, and the next command, which runs it once. */
export interface Fate {
  what: string
  next: string
}

/** A message with a key may be in the inbox since an earlier command. */
export function fateOf(
  store: Store,
  state: State,
  { key, content }: Pick<KeyedMessage, 'key' | 'content'>,
): Fate {
  const word = wordOf(state)
  const pending = key === null ? undefined : findPending(store, state, nextIdOfKey(store, state, key))
  if (pending?.digest === digestOf(content))
    return { what: 'the message is still queued', next: `deliver it: substrat deliver ${word}` }
  const flag = key === null ? '' : ` --key ${shellWord(key)}`
  return { what: 'the message was not stored', next: `send it again: substrat send ${word}${flag} '…'` }
}

/** Throws if the agent takes no message now. */
export function refuseClosed(
  store: Store,
  state: State,
  message: Pick<KeyedMessage, 'key' | 'content'>,
): void {
  refuseElsewhere(store, state)
  const obstacle = turnObstacle(store, state, 'message')
  if (obstacle?.kind === 'terminated') throw terminatedError(state)
  if (obstacle?.kind === 'hold' || obstacle?.kind === 'gate') throw closedError(state, obstacle)
  if (obstacle?.kind === 'program') throw besideError(state, fateOf(store, state, message))
  if (obstacle?.kind === 'unknown') throw undecidedError(state, fateOf(store, state, message))
}

/** The turn of a message would do its work beside, or after, a call that may have had its effect. */
function undecidedError(state: State, { what }: Fate): SubstratError {
  const { run, id } = state
  const why = troubleOf(run as Run)
  return new SubstratError('OUTCOME_UNKNOWN', `${state.path} has an interrupted turn: ${why}; ${what}`, {
    hint: `${decideUnknown(addressOf(state))}; or queue the message: --queue`,
    facts: { agent_id: id, run_id: (run as Run).run_id, reason: (run as Run).reason },
  })
}

/** A message does not decide about the program. Its turn could work beside it in the same directory and native session. */
function besideError(state: State, { what }: Fate): SubstratError {
  const { run, id } = state
  const word = wordOf(state)
  const declaration = declarationOf(state)
  const next =
    declaration === undefined
      ? `make sure that it has ended, then: substrat resume ${word}`
      : `recover it on that host: substrat recover --all; or, if that host is down: ${declaration}`
  const why = troubleOf(run as Run)
  return new SubstratError('PROGRAM_ALIVE', `${state.path} has an interrupted turn: ${why}; ${what}`, {
    hint: `${next}; or queue the message: --queue`,
    facts: { agent_id: id, run_id: (run as Run).run_id, reason: (run as Run).reason },
  })
}

function closedError(state: State, { code, is, until, next }: Closure): SubstratError {
  return new SubstratError(code, `${state.path} is ${is} and will not run until you ${until} it`, {
    hint: `${until} it: ${next}; or queue the message: --queue`,
    facts: { agent_id: state.id },
  })
}

function terminatedError(state: State): SubstratError {
  return new SessionStateError(`${state.path} ${howEnded(state)} and takes no messages`, {
    hint: `read its log: substrat log ${wordOf(state)}; or start another agent: substrat spawn`,
    facts: { agent_id: state.id, state: state.state },
  })
}

/** The earlier turn was interrupted by a person or a dying program, not by a signal to substrat (see `notBegun`). */
export function isCutShort({ status, reason }: Run): boolean {
  return status === 'interrupted' && reason !== 'shutdown'
}

export function notTaken(state: State, run: Run, { what, next }: Fate): SubstratError {
  const ended =
    run.reason === 'suspended' ? 'was suspended' : `could not end its earlier turn (${troubleOf(run)})`
  const message = `${state.path} ${ended} before the message was delivered; ${what}`
  return new SubstratError('INTERRUPTED', message, {
    hint: run.reason === 'unknown_tool' ? `${decideUnknown(addressOf(state))}; then ${next}` : next,
    facts: { agent_id: state.id },
  })
}

export function notBegun(state: State, signal: StopSignal, { what, next }: Fate): SubstratError {
  const message = `stopped by ${signal} before the message was delivered; ${what}`
  return new SubstratError(`STOPPED_${signal}`, message, {
    hint: next,
    facts: { agent_id: state.id },
  })
}

/** A signal before the message was delivered and while the command had no turn. Reads the store. */
export function notBegunYet(store: Store, request: MessageRequest, signal: StopSignal): SubstratError {
  const state = readState(store, request.agentId)
  return notBegun(state, signal, fateOf(store, state, request))
}
