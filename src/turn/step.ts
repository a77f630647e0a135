/**
 * What a turn does next: state + event -> records + effect, pure.
 *
 * Invariants: intent is recorded before it is carried out. Every run is ended by exactly one record. What the provider
 * said is recorded before the run is closed.
 */
import { assert } from '../errors.js'
import { deriveId } from '../session/ids.js'
import type { Interruption, NewRecord, ProcessGroup, RunError, Usage } from '../session/records.js'
import type { Run, State } from '../session/state.js'

export type ProviderKind = 'model' | 'agent'

/** The mail that a run answers. */
interface DeliveredMail {
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
}

export interface Continuation {
  origin: 'continuation'
  continues: string
  auto: boolean
  content: string | null
}

export type TurnEvent =
  | { type: 'begin'; provider: ProviderKind; run: RunRequest }
  /** The first turn of a spawned agent: its run is in the log since its birth. */
  | { type: 'ask'; provider: ProviderKind }
  /** The open run of a process that is gone is taken up again. */
  | { type: 'go_on'; provider: ProviderKind; boot_id: string; auto: boolean }
  | { type: 'launched'; group: ProcessGroup }
  | { type: 'state_known'; state: string }
  | { type: 'model_responded'; reply: string; stop: 'end' | 'length'; usage: Usage | null }
  | { type: 'agent_replied'; reply: string }
  /** An agent provider has let go after its reply. */
  | { type: 'released'; state: string | null; usage: Usage | null }
  | { type: 'failed'; error: RunError }
  | { type: 'stopped'; reason: StopReason; state: string | null }

export type StopReason = 'turn_timeout' | 'terminated' | 'suspended' | 'shutdown'

/** `ask` the provider; `release` what an agent provider holds; undefined: go on waiting, or the run is over. */
export type Effect = 'ask' | 'release'

export interface Step {
  records: NewRecord[]
  effect?: Effect
}

export function step(state: State, event: TurnEvent): Step {
  switch (event.type) {
    case 'begin':
      return begin(state, event.provider, event.run)
    case 'ask':
      return asking([], openRun(state).run_id, event.provider)
    case 'go_on':
      return goOn(openRun(state), event, state.recovery.barren_attempts + 1)
    case 'launched':
      return { records: [{ kind: 'provider.started', run_id: openRun(state).run_id, ...event.group }] }
    case 'state_known':
      return { records: [{ kind: 'provider.state', run_id: openRun(state).run_id, state: event.state }] }
    case 'model_responded':
      return { records: modelResponded(openRun(state).run_id, event) }
    case 'agent_replied':
      return { records: [reply(openRun(state).run_id, event.reply)], effect: 'release' }
    case 'released': {
      const { run_id } = openRun(state)
      return { records: [...stateRecord(run_id, event.state), completed(run_id, event.usage)] }
    }
    case 'failed':
      return { records: [{ kind: 'run.failed', run_id: openRun(state).run_id, error: event.error }] }
    case 'stopped':
      return { records: stopped(openRun(state).run_id, event.reason, event.state) }
  }
}

/** Puts the session to rest in the same batch as the end of its last run. */
export function withRest(state: State, records: NewRecord[]): NewRecord[] {
  const ends = records.some(({ kind }) => ENDS.has(kind))
  return ends && state.state === 'active'
    ? [...records, { kind: 'session.suspended', reason: 'idle' }]
    : records
}

const ENDS = new Set(['run.completed', 'run.failed', 'run.cancelled', 'run.interrupted'])

function begin(state: State, provider: ProviderKind, run: RunRequest): Step {
  const { run_id, boot_id, prompt } = run
  const records: NewRecord[] = []
  if (state.state !== 'active') records.push({ kind: 'session.activated', boot_id })
  records.push({
    kind: 'run.started',
    run_id,
    boot_id,
    origin: prompt.origin,
    provider: state.provider_name,
    model: state.model,
    options: state.options,
    ...(run.key === null ? {} : { key: run.key }),
    ...(run.digest === null ? {} : { digest: run.digest }),
    ...(prompt.origin === 'continuation' ? { continues: prompt.continues, auto: prompt.auto } : {}),
    ...(run.turn_timeout_ms === null ? {} : { turn_timeout_ms: run.turn_timeout_ms }),
  })
  records.push(...promptRecords(run_id, prompt))
  return asking(records, run_id, provider)
}

function promptRecords(run_id: string, prompt: RunRequest['prompt']): NewRecord[] {
  if (prompt.origin === 'mail') return [{ kind: 'mail.delivered', run_id, ...prompt.mail }]
  if (prompt.content === null) return []
  const { origin, content } = prompt
  return [{ kind: 'message.user', message_id: deriveId(run_id, 'prompt'), run_id, content, origin }]
}

function goOn(
  run: Run,
  event: { provider: ProviderKind; boot_id: string; auto: boolean },
  attempt: number,
): Step {
  const { boot_id, auto } = event
  return asking(
    [{ kind: 'run.resumed', run_id: run.run_id, boot_id, auto, attempt }],
    run.run_id,
    event.provider,
  )
}

/** A model is named as asked before it is; an agent program has its gate for that. */
function asking(records: NewRecord[], run_id: string, provider: ProviderKind): Step {
  return {
    records: provider === 'model' ? [...records, { kind: 'model.requested', run_id }] : records,
    effect: 'ask',
  }
}

function modelResponded(
  run_id: string,
  event: { reply: string; stop: 'end' | 'length'; usage: Usage | null },
): NewRecord[] {
  const usage = event.usage === null ? {} : { usage: event.usage }
  return [
    { kind: 'model.responded', run_id, stop: event.stop, ...usage },
    reply(run_id, event.reply),
    completed(run_id, event.usage),
  ]
}

function stopped(run_id: string, reason: StopReason, state: string | null): NewRecord[] {
  const end: NewRecord =
    reason === 'turn_timeout' || reason === 'terminated'
      ? { kind: 'run.cancelled', run_id, reason }
      : { kind: 'run.interrupted', run_id, reason: reason satisfies Interruption }
  return [...stateRecord(run_id, state), end]
}

export function reply(run_id: string, content: string): NewRecord {
  return { kind: 'message.agent', message_id: deriveId(run_id, 'reply'), run_id, content }
}

export function completed(run_id: string, usage: Usage | null): NewRecord {
  return { kind: 'run.completed', run_id, ...(usage === null ? {} : { usage }) }
}

function stateRecord(run_id: string, state: string | null): NewRecord[] {
  return state === null ? [] : [{ kind: 'provider.state', run_id, state }]
}

function openRun(state: State): Run {
  assert(state.run?.status === 'open', 'an event of a turn belongs to an open run')
  return state.run
}
