/** The records that recovery appends for an open run whose process is gone: row -> records, pure. `settle` appends them. */
import { assert } from '../errors.js'
import { ownIdentity } from '../host/identity.js'
import { placeOf } from '../host/whereabouts.js'
import type { ProcessGroup, Used } from '../schema/types.js'
import type { Interruption } from '../schema/words.js'
import { addUsage } from '../session/fold/usage.js'
import type { NewRecord } from '../session/records.js'
import type { Run, State } from '../session/state.js'
import { isAtWork } from '../session/status.js'
import { overtakenRecords } from '../turn/ask/program-calls.js'
import { completedRecord, reply, usedFields } from '../turn/step/records.js'
import { isLeftToTurn, type ToolPolicy } from '../turn/step/turn-event.js'
import { expiredRecords } from '../turn/tokens.js'
import { UNKNOWN_OUTCOME } from '../turn/tools/on-unknown.js'
import { RECOVERY_TABLE, type Row } from './table.js'

export interface SettlementFacts {
  policy: ToolPolicy
  /** After a tool with unknown outcome: wait for a person, or let the model find out. */
  unknownTool: 'stop' | 'continue'
  /** Whether the caller continues an open run. Otherwise the run ends as interrupted. */
  continuesTurn: boolean
  /** A program of the run may still run and cannot be killed. */
  hasSurvivor: boolean
  /** Programs of the run that may be alive on another host. */
  elsewhere?: ProcessGroup[]
  /** Row J: the reply, if the program's own store has a finished turn. */
  finished: string | undefined
  /** Row J: the usage that the program's own store has, whether the turn finished or not. */
  used?: Used
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
          : [
              reply(run, facts.finished, facts.used),
              completedRecord(run.run_id, addUsage(run.usage, facts.used?.usage)),
            ]),
      ]
    case 'settle_tools':
      return settledTools(run, facts)
    case 'expire':
      return [...expiredRecords(state, run), interruption(run, 'wait_timeout')]
    case 'go_on':
      return facts.continuesTurn && !facts.hasSurvivor ? [] : interruptedBy(run, facts)
  }
}

/** A session is suspended if no run is at work, also while its run waits. */
export function restRecords(state: State, reason: 'idle' | 'recovery'): NewRecord[] {
  return state.state === 'active' && !isAtWork(state) ? [{ kind: 'session.suspended', reason }] : []
}

/** While a program may still run, no visit may continue the run automatically. The recorded reason prevents that. */
function interruptedBy(
  run: Run,
  { hasSurvivor, elsewhere = [], used }: SettlementFacts,
  isUndecided = false,
): NewRecord[] {
  const { host_id } = ownIdentity()
  if (elsewhere.length > 0)
    return [
      {
        ...interruption(run, 'other_host'),
        left: elsewhere,
        ...(host_id === undefined ? {} : { host_id }),
        ...(isUndecided ? { undecided: true } : {}),
      },
    ]
  return hasSurvivor ? [interruption(run, 'program_alive')] : interruptedRecords(run, used)
}

/** Ends the open run as interrupted because its process died. */
export function interruptedRecords(run: Run, used?: Used): NewRecord[] {
  const [kernel_boot_id = ''] = run.boot_id.split('/')
  const place = placeOf({ kernel_boot_id, host_id: run.host_id })
  const reason = place === 'past' ? 'process_restart' : 'process_exit'
  return [interruption(run, reason, used)]
}

function interruption(run: Run, reason: Interruption, used: Used = {}): NewRecord<'run.interrupted'> {
  return { kind: 'run.interrupted', run_id: run.run_id, reason, ...usedFields(used) }
}

/**
 * Row E. A tool that only reads, or is one of substrat's own, runs again when the turn continues, and so does a call with such a
 * rule. Any other tool may have done part of its work, so its result is "outcome unknown". With `stop`, a person decides first.
 */
function settledTools(run: Run, facts: SettlementFacts): NewRecord[] {
  const { policy, unknownTool, continuesTurn, hasSurvivor, elsewhere = [] } = facts
  const unknown = run.calls.filter((call) => call.status === 'started' && !isLeftToTurn(policy, call))
  const results = unknown.map(
    ({ call_id, tool }): NewRecord => ({
      kind: 'tool.finished',
      run_id: run.run_id,
      call_id,
      tool,
      content: elsewhere.length > 0 ? UNKNOWN_ELSEWHERE : UNKNOWN_OUTCOME,
      is_error: true,
    }),
  )
  const stops = unknown.some(({ call_id }) => (policy.ruleFor?.(call_id)?.do ?? unknownTool) === 'stop')
  if (stops && !hasSurvivor) return [...results, interruption(run, 'unknown_tool')]
  return continuesTurn && !hasSurvivor ? results : [...results, ...interruptedBy(run, facts, stops)]
}

const UNKNOWN_ELSEWHERE =
  'Interrupted, outcome unknown: this ran on another host, and may still have been running. Look at what it did before doing it again.'

function openRun({ run }: State): Run {
  assert(run?.status === 'open', 'a row other than A has an open run')
  return run
}
