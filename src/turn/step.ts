/**
 * What a turn does next: state + event -> records + effect, pure.
 *
 * Invariants: intent is recorded before it is carried out. Every run is ended by exactly one record. What the provider
 * said is recorded before the run is closed. Every call of a response has exactly one result, recorded before the model
 * is asked again or the run is closed; only an interrupted run leaves calls open, for the run that goes on with it.
 */
import { assert } from '../errors.js'
import { limits } from '../limits.js'
import type {
  CallRecord,
  NewRecord,
  ProcessGroup,
  PromptSource,
  RunError,
  Usage,
} from '../session/records.js'
import type { Call, Run, State } from '../session/state.js'
import type { Decided, MintedToken } from './decision.js'
import { asking, assembled, completed, reply, runStarted, stateRecord } from './step-records.js'

export type ProviderKind = 'model' | 'agent'

/** The mail that a run answers. */
export interface DeliveredMail {
  message_id: string
  from: string
  mail_kind: NewRecord<'mail.delivered'>['mail_kind']
  content: string
  sent_at: string
}

export interface RunRequest {
  run_id: string
  boot_id: string
  /** What is asked: a person's message, a mail, or the going on with an interrupted run (a model needs no new message). */
  prompt: { origin: 'operator'; content: string } | { origin: 'mail'; mail: DeliveredMail } | Continuation
  key: string | null
  digest: string | null
  turn_timeout_ms: number | null
  allow: string[]
  steps_max: number | null
  sources: PromptSource[]
}

export interface Continuation {
  origin: 'continuation'
  continues: string
  auto: boolean
  content: string | null
}

/** What the loop must know of the tools to decide; the tools themselves are `drive`'s. */
export interface ToolPolicy {
  /** `program` starts a process, and is recorded with it. `ask` is answered by a person. */
  kindOf(tool: string): 'reads' | 'changes' | 'program' | 'ask' | 'unknown'
}

/** What follows a failed attempt: decided by `retry`, from the settings. */
export interface RetryPlan {
  /** Ask again after so long; null: no more. */
  retryInMs: number | null
  /** Park until then; null: the run fails. */
  notBefore: string | null
}

export type TurnEvent =
  | { type: 'begin'; provider: ProviderKind; run: RunRequest }
  /** The first turn of a spawned agent: its run is in the log since its birth. */
  | { type: 'ask'; provider: ProviderKind; sources: PromptSource[] }
  /** The open run of a process that is gone is taken up again, or one whose time has come. */
  | {
      type: 'go_on'
      provider: ProviderKind
      boot_id: string
      auto: boolean
      notice: string | null
      sources: PromptSource[]
    }
  /** A person has decided about the parked calls. */
  | { type: 'decided'; boot_id: string; decided: Decided; sources: PromptSource[] }
  | { type: 'launched'; group: ProcessGroup }
  | { type: 'server_launched'; server: string; group: ProcessGroup }
  | { type: 'state_known'; state: string }
  | {
      type: 'model_responded'
      reply: string
      stop: 'end' | 'length' | 'tool_calls'
      usage: Usage | null
      calls: CallRecord[]
    }
  | { type: 'model_failed'; error: RunError; plan: RetryPlan }
  | { type: 'retry' }
  | {
      type: 'compacted'
      content: string
      how: 'summary' | 'dropped'
      keeps: { seq: number; offset: number }
      messages: number
      responses: number
    }
  | { type: 'tool_launched'; call_id: string; group: ProcessGroup }
  | {
      type: 'tool_finished'
      call_id: string
      content: string
      is_error: boolean
      output: { blob: string; bytes: number } | null
    }
  | {
      type: 'parked'
      token: MintedToken
      asks: { call_id: string; tool: string; input: { [key: string]: unknown } }[]
    }
  | { type: 'agent_replied'; reply: string }
  /** An agent provider has let go after its reply. */
  | { type: 'released'; state: string | null; usage: Usage | null }
  | { type: 'failed'; error: RunError }
  | { type: 'stopped'; reason: StopReason; state: string | null }

export type StopReason = 'turn_timeout' | 'terminated' | 'cancelled' | 'suspended' | 'shutdown'

/** Undefined: go on waiting for what is under way, or the run is over or parked. */
export type Effect =
  | { type: 'ask' }
  | { type: 'run_tool'; call_id: string }
  /** Mint a token and park, about these calls. */
  | { type: 'park'; call_ids: string[] }
  | { type: 'pause'; ms: number }
  | { type: 'compact' }

export interface Step {
  records: NewRecord[]
  effect?: Effect
}

export function step(state: State, event: TurnEvent, policy: ToolPolicy): Step {
  if (event.type === 'begin') return begin(state, event.provider, event.run, policy)
  const run = openRun(state)
  const { run_id } = run
  switch (event.type) {
    case 'ask':
      return asking(assembled(run_id, event.sources), run_id, event.provider)
    case 'go_on':
      return goOn(state, run, event, policy)
    case 'decided':
      return decided(state, run, event, policy)
    case 'launched':
      return { records: [{ kind: 'provider.started', run_id, ...event.group }] }
    case 'server_launched':
      return { records: [{ kind: 'server.started', run_id, server: event.server, group: event.group }] }
    case 'state_known':
      return { records: [{ kind: 'provider.state', run_id, state: event.state }] }
    case 'model_responded':
      return modelResponded(run, event, policy)
    case 'model_failed':
      return modelFailed(run, event)
    case 'retry':
      return asking([], run_id, 'model')
    case 'compacted':
      return asking([compacted(run_id, event)], run_id, 'model')
    case 'tool_launched':
      return {
        records: [
          {
            kind: 'tool.started',
            run_id,
            call_id: event.call_id,
            tool: callOf(run, event.call_id).tool,
            group: event.group,
          },
        ],
      }
    case 'tool_finished':
      return toolFinished(run, event, policy)
    case 'parked':
      return { records: parked(run_id, event, policy) }
    case 'agent_replied':
      return { records: [reply(run, event.reply)] }
    case 'released':
      return { records: [...stateRecord(run_id, event.state), completed(run_id, event.usage)] }
    case 'failed':
      return {
        records: [
          ...withdrawn(run, 'the turn failed before it was run'),
          { kind: 'run.failed', run_id, error: event.error },
        ],
      }
    case 'stopped':
      return { records: stopped(run, event.reason, event.state) }
  }
}

/** Puts the session to rest in the same batch as the end of its last run, or with its parking. */
export function withRest(state: State, records: NewRecord[]): NewRecord[] {
  // A run that a new one supersedes in the same batch is no rest.
  const last = records.findLast(({ kind }) => ENDS.has(kind) || kind === 'run.started')
  return last !== undefined && ENDS.has(last.kind) && state.state === 'active'
    ? [...records, { kind: 'session.suspended', reason: 'idle' }]
    : records
}

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled', 'run.interrupted', 'run.waiting'])

/** Results for the calls that will not be run, so that no history lacks one. */
export function withdrawn(run: Run, why: string): NewRecord[] {
  return run.calls
    .filter(({ status }) => status !== 'finished')
    .map(({ call_id, tool, status }) => ({
      kind: 'tool.finished',
      run_id: run.run_id,
      call_id,
      tool,
      content:
        status === 'started'
          ? `Interrupted: ${why}; what it had done by then is unknown.`
          : `Not run: ${why}.`,
      is_error: true,
    }))
}

function begin(state: State, provider: ProviderKind, request: RunRequest, policy: ToolPolicy): Step {
  const records = runStarted(state, request)
  if (state.run?.status === 'open')
    return asking(superseding(state, state.run, records), request.run_id, provider)
  const left = state.run?.calls.some(({ status }) => status !== 'finished') === true ? state.run : null
  if (left === null || request.prompt.origin !== 'continuation') {
    const closed =
      left === null ? [] : withdrawn({ ...left, run_id: request.run_id }, 'another message came first')
    const at = records.findIndex(({ kind }) => kind === 'run.started') + 1
    return asking([...records.slice(0, at), ...closed, ...records.slice(at)], request.run_id, provider)
  }
  return proceed(records, { ...left, run_id: request.run_id, allow: request.allow }, left.calls, policy)
}

/** A person's message to a run that waits: its token is worth nothing any more, its calls are not run. */
function superseding(state: State, run: Run, records: NewRecord[]): NewRecord[] {
  assert(run.wait !== null, 'only a run that waits is superseded')
  const at = records.findIndex(({ kind }) => kind === 'run.started')
  const closed: NewRecord[] = [
    ...revoked(state, run, 'superseded'),
    ...withdrawn(run, 'another message came first'),
    { kind: 'run.cancelled', run_id: run.run_id, reason: 'superseded' },
  ]
  return [...records.slice(0, at), ...closed, ...records.slice(at)]
}

/** The token of the run's wait, where it could still be used. */
export function revoked(state: State, run: Run, reason: NewRecord<'token.revoked'>['reason']): NewRecord[] {
  const token_id = run.wait?.resume_token_id ?? null
  const token = state.tokens.find((entry) => entry.token_id === token_id)
  return token?.status === 'minted'
    ? [{ kind: 'token.revoked', run_id: run.run_id, token_id: token.token_id, reason }]
    : []
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
  records.push(...assembled(run.run_id, event.sources))
  if (notice !== null) records.push(noticeRecord(run, attempt, notice))
  return run.phase === 'calling'
    ? proceed(records, run, run.calls, policy)
    : asking(records, run.run_id, event.provider)
}

function noticeRecord(run: Run, attempt: number, content: string): NewRecord {
  return { kind: 'message.notice', run_id: run.run_id, content, attempt }
}

function decided(
  state: State,
  run: Run,
  event: Extract<TurnEvent, { type: 'decided' }>,
  policy: ToolPolicy,
): Step {
  const { boot_id } = event
  const { token_id, decision, digest, text } = event.decided
  const { run_id } = run
  const attempt = state.recovery.barren_attempts + 1
  const asked = run.wait?.call_ids ?? []
  const records: NewRecord[] = []
  if (state.state !== 'active') records.push({ kind: 'session.activated', boot_id })
  records.push({ kind: 'token.consumed', run_id, token_id, decision, digest })
  records.push({ kind: 'run.resumed', run_id, boot_id, auto: false, attempt, token_id })
  records.push(...assembled(run_id, event.sources))
  if (decision === 'approve') {
    const approved = run.calls.map((call) =>
      asked.includes(call.call_id) ? { ...call, isApproved: true } : call,
    )
    return proceed(records, run, approved, policy)
  }
  const isError = decision === 'deny'
  const content = isError ? `Denied by the operator${text === '' ? '' : `: ${text}`}.` : text
  for (const call_id of asked) {
    records.push({
      kind: 'tool.finished',
      run_id,
      call_id,
      tool: callOf(run, call_id).tool,
      content,
      is_error: isError,
    })
  }
  return proceed(
    records,
    run,
    run.calls.map((call) => (asked.includes(call.call_id) ? finished(call) : call)),
    policy,
  )
}

function modelResponded(
  run: Run,
  event: Extract<TurnEvent, { type: 'model_responded' }>,
  policy: ToolPolicy,
): Step {
  const { run_id } = run
  const { stop, calls } = event
  const usage = event.usage === null ? {} : { usage: event.usage }
  const responded: NewRecord = {
    kind: 'model.responded',
    run_id,
    stop,
    ...usage,
    ...(calls.length === 0 ? {} : { calls }),
  }
  if (calls.length === 0) return { records: [reply(run, event.reply), responded, completed(run_id, null)] }
  const said = event.reply === '' ? [] : [reply(run, event.reply)]
  const pending = calls.map(
    ({ call_id, name }): Call => ({ call_id, tool: name, status: 'pending', isApproved: false, group: null }),
  )
  return proceed([...said, responded], { ...run, steps: run.steps + 1 }, pending, policy)
}

/** The next thing that a run with calls does: run one, say that it is unknown, park what needs a person, ask again. */
function proceed(records: NewRecord[], run: Run, calls: Call[], policy: ToolPolicy): Step {
  const { run_id } = run
  const next = calls.find((call) => isDue(run, call, policy))
  if (next !== undefined) {
    const { call_id, tool } = next
    const kind = policy.kindOf(tool)
    if (kind === 'unknown') {
      const content = `There is no tool ${tool}.`
      records.push({ kind: 'tool.finished', run_id, call_id, tool, content, is_error: true })
      return proceed(
        records,
        run,
        calls.map((call) => (call === next ? finished(call) : call)),
        policy,
      )
    }
    // A program is recorded with its process group, behind its gate; anything else here, before it is run.
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
  const stepsMax = run.steps_max ?? limits.stepsMax
  if (run.steps < stepsMax) return asking(records, run_id, 'model')
  const message = `it asked the model ${stepsMax} times without coming to an end (--max-steps)`
  return { records: [...records, { kind: 'run.failed', run_id, error: { type: 'max_steps', message } }] }
}

/** A tool that only reads is run again where a crash took its result; what else was started has a result by now. */
function isDue(run: Run, call: Call, policy: ToolPolicy): boolean {
  if (call.status === 'started') return policy.kindOf(call.tool) === 'reads'
  return call.status === 'pending' && isFree(run, call, policy)
}

function isFree(run: Run, call: Call, policy: ToolPolicy): boolean {
  const kind = policy.kindOf(call.tool)
  if (kind === 'ask') return false
  return (
    kind === 'reads' ||
    kind === 'unknown' ||
    call.isApproved ||
    run.allow.includes('all') ||
    run.allow.includes(call.tool)
  )
}

function toolFinished(
  run: Run,
  event: Extract<TurnEvent, { type: 'tool_finished' }>,
  policy: ToolPolicy,
): Step {
  const { call_id, content, is_error, output } = event
  const { tool } = callOf(run, call_id)
  const record: NewRecord = {
    kind: 'tool.finished',
    run_id: run.run_id,
    call_id,
    tool,
    content,
    is_error,
    ...(output === null ? {} : { output }),
  }
  return proceed(
    [record],
    run,
    run.calls.map((call) => (call.call_id === call_id ? finished(call) : call)),
    policy,
  )
}

function modelFailed(run: Run, { error, plan }: Extract<TurnEvent, { type: 'model_failed' }>): Step {
  const { run_id } = run
  const attempt: NewRecord = { kind: 'model.failed', run_id, error, retry_in_ms: plan.retryInMs }
  if (error.type === 'overflow' && !run.isCompacted)
    return { records: [attempt], effect: { type: 'compact' } }
  if (plan.retryInMs !== null) return { records: [attempt], effect: { type: 'pause', ms: plan.retryInMs } }
  if (plan.notBefore === null) return { records: [attempt, { kind: 'run.failed', run_id, error }] }
  return {
    records: [
      attempt,
      { kind: 'run.waiting', run_id, wait: 'not_before', not_before: plan.notBefore, why: error.message },
    ],
  }
}

function compacted(run_id: string, event: Extract<TurnEvent, { type: 'compacted' }>): NewRecord {
  const { content, how, keeps, messages, responses } = event
  return {
    kind: 'context.compacted',
    run_id,
    content,
    how,
    keeps_seq: keeps.seq,
    keeps_offset: keeps.offset,
    messages,
    responses,
  }
}

function parked(
  run_id: string,
  { token, asks }: Extract<TurnEvent, { type: 'parked' }>,
  policy: ToolPolicy,
): NewRecord[] {
  const isQuestion = asks.every(({ tool }) => policy.kindOf(tool) === 'ask')
  const { token_id, hash, expires_at } = token
  return [
    { kind: 'token.minted', run_id, token_id, hash, expires_at },
    {
      kind: 'run.waiting',
      run_id,
      wait: isQuestion ? 'input' : 'approval',
      asks,
      token_id,
      deadline_at: expires_at,
    },
  ]
}

function stopped(run: Run, reason: StopReason, state: string | null): NewRecord[] {
  const { run_id } = run
  const records = stateRecord(run_id, state)
  if (reason === 'suspended' || reason === 'shutdown')
    return [...records, { kind: 'run.interrupted', run_id, reason }]
  return [...records, ...withdrawn(run, 'the turn was cancelled'), { kind: 'run.cancelled', run_id, reason }]
}

function finished(call: Call): Call {
  return { ...call, status: 'finished' }
}

function callOf(run: Run, callId: string): Call {
  const call = run.calls.find(({ call_id }) => call_id === callId)
  assert(call !== undefined, `the run has the call ${callId}`)
  return call
}

function openRun(state: State): Run {
  assert(state.run?.status === 'open', 'an event of a turn belongs to an open run')
  return state.run
}
