/**
 * Where the conversation of a new turn begins, by the agent's setting `context`.
 *
 * Invariants: the cut is at the beginning of a turn, so each call in the conversation has its result. `run.started` has the cut, so a
 * turn that continues after a crash has the conversation with which it began, also if the setting has changed.
 */
import type { Session } from '../../session/session.js'
import type { RunRequest } from '../step/turn-event.js'

/** The fields of the run that begins the turn. */
export function contextOfTurn(session: Session): Pick<RunRequest, 'fresh' | 'keeps'> {
  const { context } = session.state
  if (context === undefined) return {}
  if (context === 'turn') return { fresh: true }
  const seq = firstOfLast(session, Number(context.slice('last:'.length)))
  return seq === undefined ? {} : { keeps: session.placeOf(seq) }
}

/**
 * The first record of the last turns. Undefined if the conversation has no more than these. The conversation that a fork has copied counts as
 * one turn. A summary stands for earlier turns, so it is left out once there are enough turns after it.
 */
function firstOfLast(session: Session, turns: number): number | undefined {
  const { context_seq, context_offset, compaction, id } = session.state
  const starts: number[] = []
  const context = { seq: context_seq, offset: context_offset }
  for (const record of session.recordsOfKinds(context, ['run.started', 'session.seeded']))
    if (record.kind === 'run.started' ? record.continues === undefined : record.from !== id)
      starts.push(record.seq)
  const isMore = starts.length > turns || (starts.length === turns && compaction !== null)
  return isMore ? starts[starts.length - turns] : undefined
}
