/**
 * The tool calls of `step`: which call runs next, which calls a person must decide on, and how a decision applies.
 *
 * Invariant: the model is asked again only after each call of its response has a result.
 */
import { assert } from '../../errors.js'
import { limits } from '../../limits.js'
import type { NewRecord } from '../../session/records.js'
import type { Call, Run, State } from '../../session/state.js'
import { consumedRecords, waitRecords } from '../tokens.js'
import { askStep, assembledRecords, completedRecord, reply } from './records.js'
import type { Deferral, Step, ToolOutcome, ToolPolicy, TurnEvent } from './turn-event.js'

/** The next step of a run with calls: run one, reject an unknown tool, park for a person, or ask the model again. */
export function proceed(records: NewRecord[], run: Run, calls: Call[], policy: ToolPolicy): Step {
  const { run_id } = run
  const next = calls.find((call) => isDue(run, call, policy))
  if (next !== undefined) {
    const { call_id, tool } = next
    const kind = policy.kindOf(tool)
    if (kind === 'unknown' && next.status === 'pending') {
      const content = `There is no tool ${tool}.`
      records.push({ kind: 'tool.finished', run_id, call_id, tool, content, is_error: true })
      return proceed(
        records,
        run,
        calls.map((call) => (call === next ? finishedCall(call) : call)),
        policy,
      )
    }
    // The launch records a program, because `tool.started` names its process group. Any other call is recorded here.
    if (kind !== 'program' && next.status === 'pending')
      records.push({ kind: 'tool.started', run_id, call_id, tool })
    return { records, effect: { type: 'run_tool', call_id } }
  }
  const parkable = calls.filter(({ status }) => status === 'pending')
  if (parkable.length > 0) {
    const approvals = parkable.filter(({ tool }) => policy.kindOf(tool) !== 'ask')
    const asked = approvals.length > 0 ? approvals : parkable.slice(0, 1)
    return { records, effect: { type: 'park', call_ids: asked.map(({ call_id }) => call_id) } }
  }
  // Last, because an approved call may be deferred too: one wait is then for all results.
  const deferred = calls.filter(({ status }) => status === 'deferred')
  if (deferred.length > 0)
    return { records, effect: { type: 'park', call_ids: deferred.map(({ call_id }) => call_id) } }
  const stepsMax = run.steps_max ?? limits.stepsMax
  if (run.steps < stepsMax) return askStep(records, run_id, 'model')
  const message = `the turn asked the model ${stepsMax} times without finishing (--max-steps)`
  return { records: [...records, { kind: 'run.failed', run_id, error: { type: 'max_steps', message } }] }
}

/** The turn decides about each call whose result a crash lost, unless recovery has given it a result. Its rule may have changed since. */
function isDue(run: Run, call: Call, policy: ToolPolicy): boolean {
  if (call.status === 'started') return true
  return call.status === 'pending' && isFree(run, call, policy)
}

function isFree(run: Run, call: Call, policy: ToolPolicy): boolean {
  const kind = policy.kindOf(call.tool)
  if (kind === 'ask') return false
  return (
    kind === 'reads' ||
    kind === 'unknown' ||
    call.isApproved ||
    isAllowed(run.allow, call.tool, policy) ||
    policy.covers?.(run.allow, call.call_id) === true
  )
}

/** Whether the tool runs without approval. */
export function isAllowed(allow: string[], tool: string, policy: ToolPolicy): boolean {
  return (
    allow.includes('all') ||
    allow.includes(tool) ||
    // The right to use a tool includes the right to each of its patterns.
    allow.includes(tool.replace(/\(.*$/s, '')) ||
    (allow.includes('tree') && policy.kindOf(tool) === 'own')
  )
}

export function toolFinished(run: Run, outcome: ToolOutcome, policy: ToolPolicy): Step {
  const calls = run.calls.map((call) => (call.call_id === outcome.call_id ? callAfter(call, outcome) : call))
  const records = resultRecords(run, outcome)
  if (outcome.ends === undefined) return proceed(records, run, calls, policy)
  return {
    records: [
      ...records,
      ...withdrawnRecords({ ...run, calls }, 'the agent finished its work first'),
      reply(run, outcome.ends),
      completedRecord(run.run_id, run.usage, true),
    ],
  }
}

/** The result of a call, preceded by the records of its effects on its own agent. */
export function resultRecords(run: Run, outcome: ToolOutcome | null): NewRecord[] {
  if (outcome === null) return []
  const { tool } = callOf(run, outcome.call_id)
  return [
    ...(outcome.records ?? []),
    outcome.deferred === undefined
      ? resultRecord(run, tool, outcome)
      : deferredRecord(run, tool, outcome, outcome.deferred),
  ]
}

function deferredRecord(
  { run_id }: Run,
  tool: string,
  { call_id, content }: ToolOutcome,
  { deadline_at }: Deferral,
): NewRecord<'tool.deferred'> {
  const due = deadline_at === null ? {} : { deadline_at }
  return { kind: 'tool.deferred', run_id, call_id, tool, content, ...due }
}

/** The call once its outcome is recorded. */
export function callAfter(call: Call, { deferred }: ToolOutcome): Call {
  return deferred === undefined ? finishedCall(call) : { ...call, status: 'deferred', group: null }
}

export function resultRecord(
  { run_id }: Run,
  tool: string,
  { call_id, content, is_error, output, timed_out }: ToolOutcome,
): NewRecord<'tool.finished'> {
  const whole = output === null ? {} : { output }
  const late = timed_out === undefined ? {} : { timed_out }
  return { kind: 'tool.finished', run_id, call_id, tool, content, is_error, ...whole, ...late }
}

export function decidedStep(
  state: State,
  run: Run,
  event: Extract<TurnEvent, { type: 'decided' }>,
  policy: ToolPolicy,
): Step {
  const { boot_id } = event
  const { token_id, decision, text, output, isFailed = false, call_id: only, actor } = event.decided
  const by = actor === undefined ? {} : { actor }
  const { run_id } = run
  const attempt = state.recovery.barren_attempts + 1
  const asked = only === undefined ? (run.wait?.call_ids ?? []) : [only]
  const records: NewRecord[] = []
  if (state.state !== 'active') records.push({ kind: 'session.activated', boot_id })
  records.push(...consumedRecords(run_id, event.decided))
  records.push({ kind: 'run.resumed', run_id, boot_id, auto: false, attempt, token_id })
  if (event.provider === 'agent') {
    if (decision === 'result') throw new Error('a program takes no results: `decide` has refused it')
    records.push({ kind: 'wait.answered', run_id, decision, content: text, asks: event.asks, ...by })
    return askStep(records, run_id, 'agent')
  }
  records.push(...assembledRecords(run_id, event.sources))
  if (decision === 'approve') {
    for (const { name: tool, ...edit } of event.decided.edits ?? [])
      records.push({ kind: 'tool.edited', run_id, tool, ...edit, ...by })
    const approved = run.calls.map((call) =>
      asked.includes(call.call_id) ? { ...call, isApproved: true } : call,
    )
    return proceed(records, run, approved, policy)
  }
  const isDenied = decision === 'deny'
  const denial =
    run.wait?.kind === 'tool_result' ? 'The operator ended the wait for the result' : 'Denied by the operator'
  const content = isDenied ? ended(`${denial}${text === '' ? '' : `: ${text}`}`) : text
  for (const call_id of asked) {
    records.push({
      kind: 'tool.finished',
      run_id,
      call_id,
      tool: callOf(run, call_id).tool,
      content,
      is_error: isDenied || isFailed,
      ...(output === undefined ? {} : { output }),
    })
  }
  return proceed(
    records,
    run,
    run.calls.map((call) => (asked.includes(call.call_id) ? finishedCall(call) : call)),
    policy,
  )
}

/** The text as a whole sentence. A person's reason may already end with a stop. */
function ended(text: string): string {
  return /[.!?…]['")]?$/.test(text) ? text : `${text}.`
}

export function parkedRecords(
  run: Run,
  { token, asks }: Extract<TurnEvent, { type: 'parked' }>,
  policy: ToolPolicy,
): NewRecord[] {
  const { run_id } = run
  if (asks.every(({ call_id }) => callOf(run, call_id).status === 'deferred'))
    return waitRecords(run_id, 'tool_result', token, asks)
  const isQuestion = asks.every(({ tool }) => policy.kindOf(tool) === 'ask')
  return waitRecords(run_id, isQuestion ? 'input' : 'approval', token, asks)
}

/** Error results for the unfinished calls of a run, so that each call in the conversation has a result. */
export function withdrawnRecords(run: Run, why: string): NewRecord[] {
  return run.calls
    .filter(({ status }) => status !== 'finished')
    .map(({ call_id, tool, status }) => ({
      kind: 'tool.finished',
      run_id: run.run_id,
      call_id,
      tool,
      content: withdrawnText(status, why),
      is_error: true,
    }))
}

function withdrawnText(status: Call['status'], why: string): string {
  if (status === 'deferred')
    return `No result: ${why}. The work elsewhere was not stopped, and its result will not be received.`
  return status === 'started' ? `Interrupted: ${why}. How far it got is unknown.` : `Not run: ${why}.`
}

function finishedCall(call: Call): Call {
  return { ...call, status: 'finished' }
}

export function callOf(run: Run, callId: string): Call {
  const call = run.calls.find(({ call_id }) => call_id === callId)
  assert(call !== undefined, `the run has the call ${callId}`)
  return call
}
