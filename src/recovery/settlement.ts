/** What recovery records about an open run whose process is gone: row -> records, pure. `settle` carries it out. */
import { assert } from '../errors.js'
import { ownIdentity } from '../host/identity.js'
import type { Interruption } from '../session/fields.js'
import type { NewRecord } from '../session/records.js'
import type { Run, State } from '../session/state.js'
import { isAtWork, type Status } from '../session/status.js'
import { overtakenRecords } from '../turn/ask/program-calls.js'
import { completedRecord, reply } from '../turn/step/records.js'
import { isRepeatable, type ToolPolicy } from '../turn/step/turn-event.js'
import { revokedRecords } from '../turn/tokens.js'
import { RECOVERY_TABLE, type Row } from './table.js'

export interface SettlementFacts {
  policy: ToolPolicy
  /** After a tool of unknown outcome: wait for a person, or let the model look for itself. */
  unknownTool: 'stop' | 'continue'
  /** Whether the caller goes on with an open run; else it is marked as interrupted. */
  goesOn: boolean
  /** A program of the run may live on where it cannot be killed. */
  hasSurvivor: boolean
  /** Row J: the reply, where the program's own store says that it finished. */
  finished: string | undefined
}

export function settlement(state: State, row: Row, facts: SettlementFacts): NewRecord[] {
  const { action } = RECOVERY_TABLE[row]
  if (action === 'none' || action === 'keep') return []
  const run = openRun(state)
  switch (action) {
    case 'close':
      return [
        ...overtakenRecords(run, UNKNOWN_OUTCOME),
        completedRecord(run.run_id, run.usage, run.terminates),
      ]
    case 'inspect':
      return [
        ...overtakenRecords(run, UNKNOWN_OUTCOME),
        ...(facts.finished === undefined
          ? interruptedBy(run, facts)
          : [reply(run, facts.finished), completedRecord(run.run_id, null)]),
      ]
    case 'settle_tools':
      return settledTools(run, facts)
    case 'expire':
      return [
        ...revokedRecords(state, run, 'expired'),
        ...interruption(run, 'wait_timeout', 'interrupted_waiting'),
      ]
    case 'go_on':
      return facts.goesOn && !facts.hasSurvivor ? [] : interruptedBy(run, facts)
  }
}

/** A session without a turn is at rest, also while its run waits. */
export function restRecords(state: State, reason: 'idle' | 'recovery'): NewRecord[] {
  return state.state === 'active' && !isAtWork(state) ? [{ kind: 'session.suspended', reason }] : []
}

/** Beside a program that may still run nothing goes on by itself, in this visit or a later one: the record says so. */
function interruptedBy(run: Run, { hasSurvivor }: SettlementFacts): NewRecord[] {
  return hasSurvivor ? interruption(run, 'program_alive', 'interrupted_startup') : interruptedRecords(run)
}

/** Ends the open run as interrupted by the death of its process. */
export function interruptedRecords(run: Run): NewRecord[] {
  const diedWith = run.boot_id.split('/')[0]
  const reason = diedWith === ownIdentity().kernel_boot_id ? 'process_exit' : 'process_restart'
  return interruption(run, reason, 'interrupted_startup')
}

function interruption(run: Run, reason: Interruption, status: Status): NewRecord[] {
  return [
    { kind: 'run.interrupted', run_id: run.run_id, reason },
    { kind: 'status.derived', status },
  ]
}

/**
 * Row E. A tool that only reads, or is ours, is run again by whoever goes on. Of any other nobody knows how far it came: that is its
 * result, and by the settings a person is asked first.
 */
function settledTools(run: Run, facts: SettlementFacts): NewRecord[] {
  const { policy, unknownTool, goesOn, hasSurvivor } = facts
  const unknown = run.calls.filter(({ status, tool }) => status === 'started' && !isRepeatable(policy, tool))
  const results = unknown.map(
    ({ call_id, tool }): NewRecord => ({
      kind: 'tool.finished',
      run_id: run.run_id,
      call_id,
      tool,
      content: UNKNOWN_OUTCOME,
      is_error: true,
    }),
  )
  if (unknown.length > 0 && unknownTool === 'stop' && !hasSurvivor)
    return [...results, ...interruption(run, 'unknown_tool', 'interrupted_startup')]
  return goesOn && !hasSurvivor ? results : [...results, ...interruptedBy(run, facts)]
}

const UNKNOWN_OUTCOME =
  'Interrupted, outcome unknown: the process that ran this was killed. Look at what it did before doing it again.'

function openRun({ run }: State): Run {
  assert(run?.status === 'open', 'a row other than A has an open run')
  return run
}
