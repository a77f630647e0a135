/** Makes the records of a step of a turn durable. */
import { controlRecords, syncBeforeForgetting } from '../mail/inbox.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { State } from '../session/state.js'
import { overtakenRecords } from './ask/program-calls.js'
import type { TurnPorts } from './ports.js'
import { withSuspension } from './step/step.js'

type Ports = Pick<TurnPorts, 'isLast' | 'isOver' | 'provider' | 'toolbox'>

export function appendStep(session: Session, ports: Ports, records: NewRecord[]): void {
  const rested = withSuspension(session.state, records)
  if (rested.length > records.length) appendEnd(session, ports, records, rested)
  else {
    syncBefore(session, records)
    session.append(records)
  }
}

/** Mail that came during the turn decides what follows it. `rested`: the records if no other turn follows. */
function appendEnd(session: Session, ports: Ports, records: NewRecord[], rested: NewRecord[]): void {
  session.forgetUncheckedMailIds()
  for (let isDone = false; !isDone; ) {
    // Controls that arrived during the turn apply before its end: a new subscriber is notified of this end too.
    const before = [...controlRecords(session), ...overtakenRecords(session.state.run)]
    const isLast = ports.isLast()
    const all = [...before, ...(isLast ? rested : records)]
    syncBefore(session, all)
    isDone = session.appendEnd(all, (state) => isLast && hasNoPrograms(ports, state) && ports.isOver(state))
  }
}

/** A program may outlive its turn, and servers of tools end after it. Both need the lease until then. */
function hasNoPrograms({ provider, toolbox }: Ports, { run }: State): boolean {
  return provider.kind === 'model' && run?.status === 'completed' && !toolbox.hasServers
}

/** Counts the controls, and the replies delivered as results of calls. */
function syncBefore(session: Session, records: NewRecord[]): void {
  const ids = records.filter(
    ({ kind }) => kind === 'mail.delivered' || /^(agent|outbound)\./.test(kind),
  ).length
  if (ids > 0) syncBeforeForgetting(session, ids)
}
