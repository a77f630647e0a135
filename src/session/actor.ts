/**
 * The actor of this process: one person or program, because each command is a process. The records of their decisions and messages
 * name them. A channel acts for many people, so its records bring their own actor.
 */
import { RECORD_PREDICATES } from '../schema/generated/record-predicates.js'
import type { Actor } from '../schema/types.js'
import type { NewRecord } from './records.js'

let acting: Actor | undefined

/** Undefined: decisions of this process have no actor. */
export function actAs(actor: Actor | undefined): void {
  acting = actor
}

export function currentActor(): Actor | undefined {
  return acting
}

/** For a draft or a record that names its actor. */
export function byActor(actor = acting): { actor?: Actor } {
  return actor === undefined ? {} : { actor }
}

/**
 * Names the actor of a decision, unless the record names one: the command that asked the holder to stop its turn is not the holder. The field
 * may be there and undefined, for a decision whose maker is unknown or is the agent itself.
 */
export function withActor(record: NewRecord): NewRecord {
  if ('actor' in record) {
    if (record.actor !== undefined) return record
    const { actor: _, ...others } = record
    return others as NewRecord
  }
  return acting !== undefined && isDecided(record) ? ({ ...record, actor: acting } as NewRecord) : record
}

function isDecided(record: NewRecord): boolean {
  switch (record.kind) {
    case 'token.consumed':
    case 'wait.answered':
    case 'tool.edited':
    case 'session.configured':
    case 'session.terminated':
      return true
    case 'message.user':
      return record.origin === 'operator'
    case 'run.started':
      return record.continues !== undefined && record.auto === false
    case 'run.resumed':
      return !record.auto && record.token_id === undefined
    case 'run.cancelled':
      return ['cancelled', 'terminated', 'superseded'].includes(record.reason)
    case 'run.interrupted':
      return record.reason === 'suspended'
    case 'run.programs_gone':
      return record.by === 'person'
    default:
      return false
  }
}

/** Undefined for anything else. */
export function asActor(value: unknown): Actor | undefined {
  return RECORD_PREDICATES['run.cancelled'].actor?.(value) === true ? (value as Actor | undefined) : undefined
}
