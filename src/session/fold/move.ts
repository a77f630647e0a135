/**
 * Folds a move to another home. The move closes the session like a termination, and `session.arrived` opens it again: in the
 * other home, whose log begins with the same records, or here, if it is taken back.
 *
 * Invariant: of the homes whose logs have the `session.moved` of one move, the agent is open in those with its `session.arrived`.
 */
import { SessionStateError } from '../../errors.js'
import type { NewRecord, Place } from '../records.js'
import type { Location, State } from '../state.js'
import { isAtWork } from '../status.js'
import { isDeferred } from './mail.js'
import { errorTo, placeOf } from './session.js'

/** Sets the turn aside in `moved`, so that no command here decides, continues or answers it. */
export function foldMoved(next: State, record: NewRecord<'session.moved'> & Place, at: Location): State {
  if (next.state === 'active' || isAtWork(next) || next.warm !== undefined)
    throw new SessionStateError('a session with a running turn or a server cannot move')
  const { move_id, home_id, to, top = null, messages, answered } = record
  const { state, run, tokens, recovery } = next
  const ids = answered.map(({ message_id }) => message_id)
  const deferred = next.owes.filter((owed) => isDeferred(next, owed))
  const owes = deferred.filter(({ reply_to }) => reply_to === null || !ids.includes(reply_to))
  return {
    ...next,
    state: 'terminated',
    moved: {
      ...{ move_id, home_id, to, top, at, messages, answered: ids },
      ...{ state, run, tokens, owes, recovery },
    },
    run: null,
    tokens: [],
    recovery: { ...recovery, interruption: null },
    delivered: [...next.delivered, ...messages],
    owes: [
      ...next.owes.filter((owed) => !deferred.includes(owed)),
      ...answered.map((request) => errorTo(request, at, 'moved')),
    ],
  }
}

export function foldArrived(next: State, record: NewRecord<'session.arrived'>): State {
  const { move_id } = record
  const { moved, workspace_host, ...rest } = next
  if (moved?.move_id !== move_id)
    throw new SessionStateError(`the session was not closed by the move ${move_id}`)
  const { state, run, tokens, owes, recovery, messages, answered } = moved
  const kept = run?.requests.filter(({ message_id }) => !answered.includes(message_id))
  return {
    ...rest,
    ...placeOf(record, workspace_host?.scope ?? 'host'),
    state,
    run: run === null ? null : { ...run, requests: kept ?? [] },
    tokens,
    recovery,
    delivered: rest.delivered.filter((id) => !messages.includes(id)),
    owes: [...rest.owes, ...owes],
  }
}
