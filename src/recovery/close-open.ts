/** Ends the run and the server that a log leaves open. Their outcome is unknown, so no command may continue them. */
import type { NewRecord } from '../session/records.js'
import type { State } from '../session/state.js'
import { withdrawnRecords } from '../turn/step/calls.js'
import { revokedRecords } from '../turn/tokens.js'

const WHY = { log_damaged: 'the log was damaged', copied: 'the agent was copied' }

export function recordsToClose(state: State, reason: keyof typeof WHY): NewRecord[] {
  const { run, warm } = state
  const end: NewRecord[] =
    run?.status === 'open'
      ? [
          ...revokedRecords(state, run, 'ended'),
          ...withdrawnRecords(run, WHY[reason]),
          { kind: 'run.cancelled', run_id: run.run_id, reason },
        ]
      : []
  return [
    ...end,
    ...(warm === undefined ? [] : [{ kind: 'server.stopped' as const, server_id: warm.server_id }]),
    ...(state.state === 'active'
      ? [{ kind: 'session.suspended' as const, reason: 'recovery' as const }]
      : []),
  ]
}
