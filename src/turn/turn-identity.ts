/** The identity of a whole turn, for a program that is one call (`exec`). */
import { deriveId } from '../session/ids.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import type { CallIdentity } from './tools/tool.js'

/** The same for each run of the turn, and for a message that `retry` or `--retry` repeats. Each start of the program is an attempt. */
export function turnIdentity(session: Session, run: Run): Omit<CallIdentity, 'message_key'> {
  let attempt = 1
  let first = run.run_id
  for (const record of session.recordsFromEnd()) {
    if (record.kind === 'provider.started') attempt += 1
    if (record.kind !== 'run.started' || record.run_id !== first) continue
    const before = record.continues ?? record.repeats
    if (before === undefined) break
    first = before
  }
  return { id: deriveId(session.id, 'turn', first), attempt }
}
