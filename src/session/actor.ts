/**
 * The actor of this process: one person or program, because each command is a process. The records of their decisions and messages
 * name them. A channel acts for many people, so its records bring their own actor.
 */
import { isPlainObject } from '../format.js'
import { ownIdentity } from '../host/identity.js'
import type { Reader } from '../schema/actors.js'
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

/** The person at this terminal, or the program of this command. */
export function readerHere(): Reader {
  const { face, token, token_id } = acting ?? {}
  if (token !== undefined) return { token, token_id }
  return face === undefined || face === 'cli' ? userHere() : {}
}

/** For a command that only reads: its output is for the user of its process. */
export function userHere(): Reader {
  return { uid: process.getuid?.(), host_id: ownIdentity().host_id }
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
    case 'schedule.set':
    case 'schedule.ran_now':
    case 'schedule.paused':
    case 'schedule.resumed':
    case 'schedule.removed':
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

/** An actor in a line is at most so long. Each command bounds its own. */
const CHARACTERS_MAX = 2000

/** Undefined for anything else. Without the fields of a later version. */
export function asActor(value: unknown): Actor | undefined {
  if (!isPlainObject(value) || RECORD_PREDICATES['run.cancelled'].actor?.(value) !== true) return undefined
  const known = Object.fromEntries(FIELDS.flatMap((field) => (field in value ? [[field, value[field]]] : [])))
  return JSON.stringify(known).length > CHARACTERS_MAX ? undefined : (known as Actor)
}

const FIELDS = ['uid', 'user', 'host_id', 'face', 'token', 'token_id', 'sender', 'claims']
