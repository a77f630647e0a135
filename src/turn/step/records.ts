/** Builders for the records of a turn. */

import { askedOptions } from '../../schema/message.js'
import type { ModelUsage, PromptSource, RunError, Usage, Used } from '../../schema/types.js'
import { deriveId } from '../../session/ids.js'
import type { ErrorDetail, NewRecord } from '../../session/records.js'
import type { Run, State } from '../../session/state.js'
import type { ProviderKind, RunRequest, Step } from './turn-event.js'

/** The batch that begins a run, activating the session if needed. The agent of `state` may not be on disk yet. */
export function runStarted(state: Runnable, request: RunRequest): NewRecord[] {
  const { run_id, boot_id, prompt, sources } = request
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
    ...askedOptions({ key: request.key, digest: request.digest }),
    ...(prompt.origin === 'continuation' ? { continues: prompt.continues, auto: prompt.auto } : {}),
    ...askedOptions({ ...request, key: null, digest: null }),
    ...(request.keeps === undefined
      ? {}
      : { keeps_seq: request.keeps.seq, keeps_offset: request.keeps.offset }),
    ...(request.repeats === undefined ? {} : { repeats: request.repeats }),
  })
  return [...records, ...assembledRecords(run_id, sources), ...promptRecords(run_id, prompt)]
}

type Runnable = Pick<State, 'state' | 'provider_name' | 'model' | 'options'>

function promptRecords(run_id: string, prompt: RunRequest['prompt']): NewRecord[] {
  if (prompt.origin === 'mail') {
    const delivered = prompt.mails.map((mail) => ({ kind: 'mail.delivered' as const, run_id, ...mail }))
    const slots = (prompt.slots ?? []).map((slot) =>
      slot.kind === 'schedule.missed' ? slot : { ...slot, run_id },
    )
    return [...delivered, ...slots]
  }
  if (prompt.content === null) return []
  const { origin, content } = prompt
  return [{ kind: 'message.user', message_id: deriveId(run_id, 'prompt'), run_id, content, origin }]
}

/** Records a request to a model before it is sent. For an agent program, `provider.started` serves that purpose. */
export function askStep(records: NewRecord[], run_id: string, provider: ProviderKind): Step {
  const asked: NewRecord[] = provider === 'model' ? [{ kind: 'model.requested', run_id }] : []
  return { records: [...records, ...asked], effect: { type: 'ask' } }
}

export function assembledRecords(run_id: string, sources: PromptSource[]): NewRecord[] {
  return sources.length === 0 ? [] : [{ kind: 'prompt.assembled', run_id, sources }]
}

/** The agent's words at this step of its run. */
export function reply(
  { run_id, steps }: Pick<Run, 'run_id' | 'steps'>,
  content: string,
  used: Used = {},
  incomplete?: string,
): NewRecord<'message.agent'> {
  const message_id = deriveId(run_id, 'reply', String(steps))
  const mark = incomplete === undefined ? {} : { incomplete }
  return { kind: 'message.agent', message_id, run_id, content, ...mark, ...usedFields(used) }
}

/** `usage` is the total of the run, `models` only of its part that no record has yet. */
export function completedRecord(
  run_id: string,
  usage: Usage | null,
  terminates = false,
  models?: ModelUsage[],
): NewRecord {
  return {
    kind: 'run.completed',
    run_id,
    ...(usage === null ? {} : { usage }),
    ...(models === undefined ? {} : { models }),
    ...(terminates ? { terminates } : {}),
  }
}

/** The fields of a record for the usage of an agent program since the last record with its usage. */
export function usedFields({
  usage,
  models,
}: {
  usage?: Usage | undefined
  models?: ModelUsage[] | undefined
}): Used {
  return { ...(usage === undefined ? {} : { usage }), ...(models === undefined ? {} : { models }) }
}

export function stateRecord(run_id: string, state: string | null): NewRecord[] {
  return state === null ? [] : [{ kind: 'provider.state', run_id, state }]
}

/** The same for a request to a model that was stopped, which has no record of its own. */
export function usedByRequest({ usage, model }: { usage?: Usage; model?: string }): Used {
  if (usage === undefined) return {}
  return model === undefined ? { usage } : { usage, models: [{ model, ...usage }] }
}

/** The record of a failed request. */
export function modelFailure(
  run_id: string,
  { error, detail, usage, model, answer_began }: { error: RunError } & ErrorDetail,
  retry_in_ms: number | null,
): NewRecord {
  return {
    kind: 'model.failed',
    run_id,
    error,
    retry_in_ms,
    ...(detail === undefined ? {} : { detail }),
    ...(usage === undefined ? {} : { usage }),
    ...(model === undefined ? {} : { model }),
    ...(answer_began === undefined ? {} : { answer_began }),
  }
}

export function runFailed(
  run_id: string,
  { error, said, detail, ...used }: { error: RunError } & ErrorDetail,
): NewRecord {
  return {
    kind: 'run.failed',
    run_id,
    error,
    ...(said === undefined ? {} : { said }),
    ...(detail === undefined ? {} : { detail }),
    ...usedFields(used),
  }
}
