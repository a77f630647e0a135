/** What the log has of a turn whose process died: by that a provider knows what of the turn its holder did not live to see. */
import type { HeardOfTurn } from '../provider/contract.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'

/** The name of the tool server that substrat's own tools are offered by. */
export const TOOL_SERVER = 'substrat'

/** Since its program was started last: what was before a person was asked is another turn of the program. */
export function heardOf(session: Session, run: Run): HeardOfTurn {
  let finished: string[] = []
  let answered = 0
  for (const record of session.records(run.start)) {
    if (record.kind === 'provider.started') {
      finished = []
      answered = 0
    }
    if (record.kind === 'program.tool_finished') finished.push(record.call_id)
    if (record.kind === 'tool.finished') answered += 1
  }
  return { finished, answered, server: TOOL_SERVER }
}
