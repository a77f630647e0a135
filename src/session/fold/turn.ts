/**
 * Folds the records of a turn: calls and waits.
 *
 * Invariants: a call is pending, then started, then finished, and has exactly one result. A run has at most one open
 * wait.
 */
import { SessionStateError } from '../../errors.js'
import type { ProcessGroup } from '../../schema/types.js'
import type { NewRecord } from '../records.js'
import type { Call, Location, Run, State, TokenEntry, Wait } from '../state.js'

export function foldResponse(run: Run, record: NewRecord<'model.responded'>, at: Location): Run {
  const calls: Call[] = (record.calls ?? []).map(({ call_id, name }) => ({
    call_id,
    tool: name,
    status: 'pending',
    isApproved: false,
    group: null,
  }))
  if (new Set(calls.map(({ call_id }) => call_id)).size !== calls.length) {
    throw new SessionStateError('two calls of one response have the same call_id')
  }
  const counts = { steps: run.steps + 1, failures: 0 }
  return calls.length === 0
    ? { ...run, ...counts, phase: 'answered', calls: [], calls_at: null }
    : { ...run, ...counts, phase: 'calling', calls, calls_at: at }
}

export function toolStarted(run: Run, record: NewRecord<'tool.started'>): Run {
  const { call_id, tool } = record
  if (isOfProgram(record)) {
    if (run.program_calls.some((call) => call.call_id === call_id))
      throw new SessionStateError(`the call ${call_id} is started twice`)
    return { ...run, program_calls: [...run.program_calls, { call_id, tool }] }
  }
  const group: ProcessGroup | null = record.group ?? null
  return withCall(run, record.call_id, 'pending', (call) => ({ ...call, status: 'started', group }))
}

/** The call runs again. Its process group, if it has one, is another. */
export function toolRepeated(run: Run, { call_id, attempt, group }: NewRecord<'tool.repeated'>): Run {
  return withCall(run, call_id, 'started', (call) => ({ ...call, group: group ?? null, attempts: attempt }))
}

/** A process finds out whether the call was done. `group`: null once it has ended. */
export function toolLookedAt(run: Run, call_id: string, group: ProcessGroup | null): Run {
  return withCall(run, call_id, 'started', (call) => ({ ...call, group }))
}

/** Whether an agent program called one of substrat's tools. Only such a record has the input, because no model response has it. */
export function isOfProgram({ input, input_blob }: NewRecord<'tool.started'>): boolean {
  return input !== undefined || input_blob !== undefined
}

/** The call runs with the arguments of this record. */
export function toolEdited(run: Run, { call_id }: NewRecord<'tool.edited'>, at: Location): Run {
  return withCall(run, call_id, 'pending', (call) => ({ ...call, edited_at: at }))
}

/** The tool ran, and left its result to a person or a program elsewhere. */
export function toolDeferred(run: Run, { call_id, deadline_at }: NewRecord<'tool.deferred'>): Run {
  const due = deadline_at === undefined ? {} : { deadline_at }
  return withCall(run, call_id, 'started', (call) => ({ ...call, status: 'deferred', group: null, ...due }))
}

/** A call that was denied, or whose tool is unknown, finishes without being started. */
export function toolFinished(run: Run, record: NewRecord<'tool.finished'>): Run {
  const others = run.program_calls.filter(({ call_id }) => call_id !== record.call_id)
  if (others.length < run.program_calls.length) return { ...run, program_calls: others }
  const call = run.calls.find(({ call_id }) => call_id === record.call_id)
  if (call?.status === 'finished') throw new SessionStateError(`the call ${record.call_id} has two results`)
  return withCall(run, record.call_id, undefined, (found) => ({ ...found, status: 'finished', group: null }))
}

/** Whether the parent, which may be a channel, has to know of this exceeded time limit. It needs one notice a run. */
export function isFirstLate({ parent, timed_out = 0 }: State, { requests, start }: Run): boolean {
  return timed_out < start.seq && requests.some(({ from }) => from === parent)
}

/** Parks the run. Its agent program has exited and starts again when the run continues. A rate limit does not undo a decision. */
export function waitingRun(run: Run, record: NewRecord<'run.waiting'>, at: Location): Run {
  const phase = run.phase === 'launched' ? 'started' : run.phase
  const answer = record.wait === 'not_before' || record.wait === 'budget' ? run.answer : null
  return { ...run, phase, process: null, answer, wait: waitOf(record, at) }
}

function waitOf(record: NewRecord<'run.waiting'>, at: Location): Wait {
  return {
    kind: record.wait,
    since_seq: at.seq,
    at,
    resume_token_id: record.token_id ?? null,
    deadline_at: record.deadline_at ?? null,
    not_before: record.not_before ?? null,
    clock: record.clock ?? null,
    call_ids: (record.asks ?? []).map(({ call_id }) => call_id),
    ...(record.wait === 'budget' ? budgetOf(record) : {}),
  }
}

function budgetOf({
  why,
  needs,
  missing,
}: NewRecord<'run.waiting'>): Pick<Wait, 'why' | 'needs' | 'missing'> {
  return {
    ...(why === undefined ? {} : { why }),
    ...(needs === undefined ? {} : { needs }),
    ...(missing === undefined ? {} : { missing }),
  }
}

export function foldResumed(run: Run, record: NewRecord<'run.resumed'>, tokens: TokenEntry[]): Run {
  const token = tokens.find(({ token_id }) => token_id === record.token_id)
  const approved = token?.decision === 'approve' ? (run.wait?.call_ids ?? []) : []
  const calls = run.calls.map((call) =>
    approved.includes(call.call_id) ? { ...call, isApproved: true } : call,
  )
  const { host_id: _, host_name: __, ...rest } = run
  // The tool servers of another kernel boot are gone, or on another host. They do not belong to the continued run.
  const servers = run.servers.filter(({ kernel_boot_id }) => record.boot_id.startsWith(`${kernel_boot_id}/`))
  return { ...rest, boot_id: record.boot_id, ...hostOf(record), wait: null, failures: 0, calls, servers }
}

/** The field is absent, not undefined, because a snapshot must be equal to the fold. */
export function hostOf({
  host_id,
  host_name,
}: Partial<Record<'host_id' | 'host_name', string | undefined>>): {
  host_id?: string
  host_name?: string
} {
  return { ...(host_id === undefined ? {} : { host_id }), ...(host_name === undefined ? {} : { host_name }) }
}

/** The calls of an ended run that have no result yet. The next run runs each of them or records why it did not. */
export function leftCalls(run: Run | null): { calls: Call[]; calls_at: Location | null } {
  const isLeft = run?.calls.some(({ status }) => status !== 'finished') ?? false
  if (!isLeft || run === null) return { calls: [], calls_at: null }
  // The deadline of the tool has passed: a continued turn waits again, as long as a token is valid.
  const calls = run.reason === 'wait_timeout' ? run.calls.map(withoutDeadline) : run.calls
  return { calls, calls_at: run.calls_at }
}

function withoutDeadline({ deadline_at: _, ...call }: Call): Call {
  return call
}

function withCall(
  run: Run,
  callId: string,
  from: Call['status'] | undefined,
  change: (call: Call) => Call,
): Run {
  const call = run.calls.find(({ call_id }) => call_id === callId)
  if (call === undefined) throw new SessionStateError(`there is no call ${callId} in run ${run.run_id}`)
  if (from !== undefined && call.status !== from)
    throw new SessionStateError(`the call ${callId} is ${call.status} already`)
  return { ...run, phase: 'calling', calls: run.calls.map((each) => (each === call ? change(call) : each)) }
}

/** The program has acted, so it has received the decision and the seed. Neither may be sent twice. */
export function programActed(next: State, run: Run): State {
  return { ...next, isSeedDue: false, run: { ...run, hasLaunched: true, answer: null } }
}
