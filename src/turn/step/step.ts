/**
 * Decides a turn's next step. Pure: state + event -> records + effect.
 *
 * Invariants:
 * - Intent is recorded before it is carried out.
 * - Exactly one record ends a run.
 * - The provider's reply is recorded before the run ends.
 * - Every call of a response has exactly one result, recorded before the model is asked again or the run ends. Only an
 *   interrupted run leaves calls open, for the run that continues it.
 */
import { assert } from '../../errors.js'
import { addUsage } from '../../session/fold/usage.js'
import type { NewRecord } from '../../session/records.js'
import type { Run, State } from '../../session/state.js'
import { revokedRecords, waitRecords } from '../tokens.js'
import { budgetDecided, overBudgetRecords } from './budget.js'
import {
  callAfter,
  callOf,
  decidedStep,
  parkedRecords,
  proceed,
  resultRecord,
  resultRecords,
  toolFinished,
  withdrawnRecords,
} from './calls.js'
import { modelFailed, modelResponded, triedRecord } from './model.js'
import {
  askStep,
  assembledRecords,
  completedRecord,
  modelFailure,
  reply,
  runFailed,
  runStarted,
  stateRecord,
  usedFields,
} from './records.js'
import {
  isLeftToTurn,
  type ProviderKind,
  type RunRequest,
  type Step,
  type ToolOutcome,
  type ToolPolicy,
  type TurnEvent,
} from './turn-event.js'

export function step(state: State, event: TurnEvent, policy: ToolPolicy): Step {
  if (event.type === 'begin') return begin(state, event.provider, event.run, policy)
  const run = openRun(state)
  const { run_id } = run
  switch (event.type) {
    case 'ask':
      return askStep(assembledRecords(run_id, event.sources), run_id, event.provider)
    case 'go_on':
      return goOn(state, run, event, policy)
    case 'decided':
      return run.wait?.kind === 'budget'
        ? budgetDecided(state, run, event, policy)
        : decidedStep(state, run, event, policy)
    case 'launched':
      return { records: [{ kind: 'provider.started', run_id, ...event.group }] }
    case 'server_launched':
      return { records: [{ kind: 'server.started', run_id, server: event.server, group: event.group }] }
    case 'server_failed': {
      const { server, reason: why, stderr } = event
      const said = stderr === '' ? {} : { stderr }
      return { records: [{ kind: 'server.failed', run_id, server, why, ...said }] }
    }
    case 'server_kept': {
      const { server_id, group } = event
      return {
        records: [
          { kind: 'provider.started', run_id, ...group },
          { kind: 'server.kept', server_id, group },
        ],
      }
    }
    case 'server_stopped':
      return { records: [{ kind: 'server.stopped', server_id: event.server_id }] }
    case 'state_known':
      return { records: [{ kind: 'provider.state', run_id, state: event.state }] }
    case 'model_responded':
      return modelResponded(run, event, policy)
    case 'model_failed':
      return modelFailed(state, run, event)
    case 'shortened':
      return askStep([triedRecord(run_id, event.shorter)], run_id, 'model')
    case 'over_budget':
      if (event.ended === undefined) return { records: overBudgetRecords(run_id, event) }
      return {
        records: [
          modelFailure(run_id, { error: event.ended.error }, null),
          ...overBudgetRecords(run_id, event, usedFields(event.ended)),
        ],
      }
    case 'retry':
      return askStep([], run_id, 'model')
    case 'tool_launched': {
      const { call_id, group, attempt } = event
      const named = { run_id, call_id, tool: callOf(run, call_id).tool, group }
      return {
        records: [
          attempt === undefined
            ? { kind: 'tool.started', ...named }
            : { kind: 'tool.repeated', ...named, attempt },
        ],
      }
    }
    case 'tool_repeated': {
      const { call_id, attempt } = event
      return {
        records: [{ kind: 'tool.repeated', run_id, call_id, tool: callOf(run, call_id).tool, attempt }],
      }
    }
    case 'check_launched': {
      const { call_id, command, group } = event
      const { tool } = callOf(run, call_id)
      return { records: [{ kind: 'tool.check_started', run_id, call_id, tool, command, group }] }
    }
    case 'tool_checked':
      return checkedStep(run, event, policy)
    case 'tool_finished':
      return toolFinished(run, event, policy)
    case 'parked':
      return { records: parkedRecords(run, event, policy) }
    case 'program_called': {
      const { name, ...call } = event.call
      return { records: [{ kind: 'tool.started', run_id, tool: name, ...call }] }
    }
    case 'program_call_finished':
      return {
        records: [
          ...(event.records ?? []),
          resultRecord(run, event.tool, event),
          // The program still runs. However it ends, this is the agent's last reply.
          ...(event.ends === undefined ? [] : [{ ...reply(run, event.ends), terminates: true }]),
        ],
      }
    case 'program_tool_started': {
      const { name, ...call } = event.call
      return { records: [{ kind: 'program.tool_started', run_id, tool: name, ...call }] }
    }
    case 'program_tool_finished':
      return { records: [{ ...resultRecord(run, event.tool, event), kind: 'program.tool_finished' }] }
    case 'program_waits':
      return {
        records: [
          ...stateRecord(run_id, event.state),
          ...waitRecords(run_id, event.wait, event.token, event.asks, usedFields(event)),
        ],
      }
    case 'program_limited':
      return { records: [...stateRecord(run_id, event.state), ...limitedRecords(run_id, event)] }
    case 'program_killed':
      return {
        records: [
          {
            kind: 'run.interrupted',
            run_id,
            reason: 'program_killed',
            error: event.error,
            ...usedFields(event),
          },
        ],
      }
    case 'agent_replied':
      return { records: [reply(run, event.reply, event)] }
    case 'released':
      return {
        records: [
          ...stateRecord(run_id, event.state),
          completedRecord(run_id, addUsage(run.usage, event.usage), event.terminates, event.models),
        ],
      }
    case 'failed':
      return {
        records: [...withdrawnRecords(run, 'the turn failed first'), runFailed(run_id, event)],
      }
    case 'stopped':
      return { records: stoppedRecords(run, event, policy) }
  }
}

/** A call that was not done runs next. Without an answer, a person decides. */
function checkedStep(
  run: Run,
  event: Extract<TurnEvent, { type: 'tool_checked' }>,
  policy: ToolPolicy,
): Step {
  const { call_id, found, said, result } = event
  const { tool } = callOf(run, call_id)
  const checked: NewRecord = { kind: 'tool.checked', run_id: run.run_id, call_id, tool, found, content: said }
  if (result === null) return { records: [checked] }
  if (found === 'unknown') {
    const stopped = { type: 'stopped', reason: 'unknown_tool', state: null, result } as const
    return { records: [checked, ...stoppedRecords(run, stopped, policy)] }
  }
  const { records, effect } = toolFinished(run, result, policy)
  return { records: [checked, ...records], ...(effect === undefined ? {} : { effect }) }
}

function limitedRecords(run_id: string, event: Extract<TurnEvent, { type: 'program_limited' }>): NewRecord[] {
  const { error, detail, notBefore } = event
  return [
    modelFailure(run_id, detail === undefined ? { error } : { error, detail }, null),
    {
      kind: 'run.waiting',
      run_id,
      wait: 'not_before',
      not_before: notBefore,
      why: error.message,
      ...usedFields(event),
    },
  ]
}

/** Suspends the session in the same batch that ends or parks its last run. */
export function withSuspension(state: State, records: NewRecord[]): NewRecord[] {
  // If a new run begins in the same batch, the session stays active.
  const last = records.findLast(
    ({ kind }) => ENDS.has(kind) || kind === 'run.started' || kind === 'run.resumed',
  )
  return last !== undefined && ENDS.has(last.kind) && state.state === 'active'
    ? [...records, { kind: 'session.suspended', reason: 'idle' }]
    : records
}

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled', 'run.interrupted', 'run.waiting'])

function begin(state: State, provider: ProviderKind, request: RunRequest, policy: ToolPolicy): Step {
  const records = runStarted(state, request)
  if (state.run?.status === 'open')
    return askStep(supersedingRecords(state, state.run, records), request.run_id, provider)
  const left = state.run?.calls.some(({ status }) => status !== 'finished') === true ? state.run : null
  if (left === null || request.prompt.origin !== 'continuation') {
    const closed =
      left === null ? [] : withdrawnRecords({ ...left, run_id: request.run_id }, 'another message came first')
    const at = records.findIndex(({ kind }) => kind === 'run.started') + 1
    return askStep([...records.slice(0, at), ...closed, ...records.slice(at)], request.run_id, provider)
  }
  const { run_id, allow, steps_max } = request
  return proceed(records, { ...left, run_id, allow, steps_max, steps: 0 }, left.calls, policy)
}

/** A person's message replaces a parked run: its token stops working, and its calls do not run. */
function supersedingRecords(state: State, run: Run, records: NewRecord[]): NewRecord[] {
  assert(run.wait !== null, 'only a run that waits is superseded')
  const at = records.findIndex(({ kind }) => kind === 'run.started')
  const closed: NewRecord[] = [
    ...revokedRecords(state, run, 'superseded'),
    ...withdrawnRecords(run, 'another message came first'),
    { kind: 'run.cancelled', run_id: run.run_id, reason: 'superseded' },
  ]
  return [...records.slice(0, at), ...closed, ...records.slice(at)]
}

function goOn(
  state: State,
  run: Run,
  event: Extract<TurnEvent, { type: 'go_on' }>,
  policy: ToolPolicy,
): Step {
  const { boot_id, auto, notice } = event
  const attempt = state.recovery.barren_attempts + 1
  const records: NewRecord[] = []
  if (state.state !== 'active') records.push({ kind: 'session.activated', boot_id })
  records.push({ kind: 'run.resumed', run_id: run.run_id, boot_id, auto, attempt })
  records.push(...assembledRecords(run.run_id, event.sources))
  if (notice !== null) records.push(noticeRecord(run, attempt, notice))
  return run.phase === 'calling'
    ? proceed(records, run, run.calls, policy)
    : askStep(records, run.run_id, event.provider)
}

function noticeRecord(run: Run, attempt: number, content: string): NewRecord {
  return { kind: 'message.notice', run_id: run.run_id, content, attempt }
}

function stoppedRecords(
  run: Run,
  event: Extract<TurnEvent, { type: 'stopped' }>,
  policy: ToolPolicy,
): NewRecord[] {
  const { run_id } = run
  const { reason, state, result, by } = event
  // The process of the turn is not the one that asked for its stop.
  const used = { actor: by, ...usedFields(event) }
  const records = [...stateRecord(run_id, state), ...resultRecords(run, result)]
  if (reason === 'suspended' || reason === 'shutdown' || reason === 'unknown_tool')
    return [...records, ...notRun(run, result, policy), { kind: 'run.interrupted', run_id, reason, ...used }]
  const calls = run.calls.map((call) => (call.call_id === result?.call_id ? callAfter(call, result) : call))
  const open = { ...run, calls }
  return [
    ...records,
    ...withdrawnRecords(open, reason === 'turn_timeout' ? 'the turn timed out' : 'the turn was cancelled'),
    { kind: 'run.cancelled', run_id, reason, ...used },
  ]
}

/** Results for calls recorded as started but never run. The continuing run does not run them, so no other code adds one. */
function notRun(run: Run, result: ToolOutcome | null, policy: ToolPolicy): NewRecord[] {
  return run.calls
    .filter(({ status, call_id }) => status === 'started' && call_id !== result?.call_id)
    .filter((call) => !isLeftToTurn(policy, call))
    .map(({ call_id, tool }) =>
      resultRecord(run, tool, { call_id, content: NOT_RUN, is_error: true, output: null }),
    )
}

const NOT_RUN = 'Not run: the turn was stopped first. Call it again if it is still needed.'

function openRun(state: State): Run {
  assert(state.run?.status === 'open', 'an event of a turn belongs to an open run')
  return state.run
}
