/** Why `send` does not store a message. */

import { SessionStateError, SubstratError } from '../errors.js'
import type { Run, State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import { troubleOf } from '../session/trouble.js'
import type { Store } from '../storage/store.js'
import type { StopSignal } from '../turn/stop.js'
import { nameOf, wordOf } from './outcome.js'
import { type Closure, declarationOf, refuseElsewhere, turnObstacle } from './turn-obstacle.js'

/** Throws if the agent takes no message now. */
export function refuseClosed(store: Store, state: State): void {
  refuseElsewhere(store, state)
  const obstacle = turnObstacle(store, state, 'message')
  if (obstacle?.kind === 'terminated') throw terminatedError(state)
  if (obstacle?.kind === 'hold' || obstacle?.kind === 'gate') throw closedError(state, obstacle)
  if (obstacle?.kind === 'program') throw besideError(state)
}

/** A message does not decide about the program. Its turn could work beside it in the same directory and native session. */
function besideError(state: State): SubstratError {
  const { run, id } = state
  const word = wordOf(state)
  const declaration = declarationOf(state)
  const next =
    declaration === undefined
      ? `make sure that it has ended, then: substrat resume ${word}`
      : `recover it on that host: substrat recover --all; or, if that host is down: ${declaration}`
  const why = troubleOf(run as Run)
  return new SubstratError(
    'PROGRAM_ALIVE',
    `${nameOf(state)} has an interrupted turn: ${why}; the message was not stored`,
    {
      hint: `${next}; or queue the message: --queue`,
      facts: { agent_id: id, run_id: (run as Run).run_id, reason: (run as Run).reason },
    },
  )
}

function closedError(state: State, { code, is, until, next }: Closure): SubstratError {
  return new SubstratError(code, `${nameOf(state)} is ${is} and will not run until you ${until} it`, {
    hint: `${until} it: ${next}; or queue the message: --queue`,
    facts: { agent_id: state.id },
  })
}

function terminatedError(state: State): SubstratError {
  return new SessionStateError(`${nameOf(state)} ${howEnded(state)} and takes no messages`, {
    hint: `read its log: substrat log ${wordOf(state)}; or start another agent: substrat spawn`,
    facts: { agent_id: state.id, state: state.state },
  })
}

/** The earlier turn was interrupted by a person or a dying program, not by a signal to substrat (see `notBegun`). */
export function isCutShort({ status, reason }: Run): boolean {
  return status === 'interrupted' && reason !== 'shutdown'
}

export function notTaken(state: State, run: Run): SubstratError {
  const what =
    run.reason === 'suspended' ? 'was suspended' : `could not end its earlier turn (${troubleOf(run)})`
  const message = `${nameOf(state)} ${what} before the message was delivered; the message was not stored`
  return new SubstratError('INTERRUPTED', message, {
    hint: `send it again: substrat send ${wordOf(state)} '…'`,
    facts: { agent_id: state.id },
  })
}

export function notBegun(state: State, signal: StopSignal): SubstratError {
  const message = `stopped by ${signal} before the message was delivered; the message was not stored`
  return new SubstratError(`STOPPED_${signal}`, message, {
    hint: `send it again: substrat send ${wordOf(state)} '…'`,
    facts: { agent_id: state.id },
  })
}
