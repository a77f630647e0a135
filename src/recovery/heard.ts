/** The log's view of a turn whose process died. A provider compares it with the program's store to find unrecorded work. */
import type { HeardOfTurn } from '../provider/contract.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'

/** The name of the tool server that offers substrat's own tools. */
export const TOOL_SERVER = 'substrat'

/** Counts only from the program's latest start. If the program was started again after a wait, its earlier work is another turn of the program. */
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
