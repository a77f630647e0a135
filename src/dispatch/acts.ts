/** The latest acts of people and programs on an agent, for `show`. */
import type { Act } from '../schema/output.js'
import type { ActKind } from '../schema/words.js'
import type { SessionRecord } from '../session/records.js'
import type { LogReader } from '../storage/store.js'

const ACTS_MAX = 3
/** A longer search would make `show` slow, and `log` has all. */
const RECORDS_MAX = 300

/** The newest first. */
export function latestActs(log: LogReader): Act[] {
  const acts: Act[] = []
  let left = RECORDS_MAX
  for (const { record } of log.recordsFromEnd()) {
    if (left-- === 0 || acts.length === ACTS_MAX) break
    const act = actIn(record as unknown as SessionRecord)
    if (act !== undefined) acts.push(act)
  }
  return acts
}

function actIn(record: SessionRecord): Act | undefined {
  if (!('actor' in record) || record.actor === undefined) return undefined
  const did = actOf(record)
  return did === undefined ? undefined : { did, at: record.ts, actor: record.actor }
}

const ACTS: Partial<Record<SessionRecord['kind'], ActKind>> = {
  'message.user': 'asked',
  'mail.delivered': 'asked',
  'run.resumed': 'continued',
  'run.started': 'continued',
  'run.cancelled': 'cancelled',
  'run.interrupted': 'suspended',
  'session.terminated': 'terminated',
  'session.created': 'created',
  'agent.gated': 'gated',
  'agent.ungated': 'ungated',
}

function actOf(record: SessionRecord): ActKind | undefined {
  if (record.kind === 'token.consumed') return DECIDED[record.decision]
  if (record.kind === 'session.configured')
    return record.hold === undefined ? 'changed' : record.hold ? 'held' : 'released'
  return ACTS[record.kind]
}

const DECIDED: Record<SessionRecord<'token.consumed'>['decision'], ActKind> = {
  approve: 'approved',
  deny: 'denied',
  input: 'answered',
  result: 'supplied',
}
