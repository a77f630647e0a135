/**
 * Threads and the ids of messages.
 *
 * Invariants: the thread follows from the first message of the conversation, which References names first. The id of our message
 * has the thread, so an answer finds it also if its program keeps only In-Reply-To. The same idempotency id has the same id.
 */
import { createHash } from 'node:crypto'
import { type Field, firstValue } from './fields.js'

/** More references are of no use, and each must be looked at. */
const REFERENCES_MAX = 500

/** The ids in a field, each with its angle brackets. */
export function idsIn(value = ''): string[] {
  return (value.match(/<[^<>\s]{1,500}>/g) ?? []).slice(0, REFERENCES_MAX)
}

export function messageIdIn(fields: Field[]): string | undefined {
  return idsIn(firstValue(fields, 'message-id'))[0]
}

/** `ids`: References, then In-Reply-To, then the message itself. */
export function threadOf(ids: string[], domain: string): string {
  const own = ids.findLast((id) => ownThreadIn(id, domain) !== undefined)
  return (own === undefined ? undefined : ownThreadIn(own, domain)) ?? digestOf(ids[0] ?? '')
}

export function ownId(idempotencyId: string, thread: string, domain: string): string {
  return `<${idempotencyId}.${thread}@${domain}>`
}

/** The thread in an id of ours. */
export function ownThreadIn(id: string, domain: string): string | undefined {
  const [, thread, host] = /^<[0-9a-f-]{36}\.([0-9a-f]{24})@([^>]+)>$/i.exec(id) ?? []
  return host?.toLowerCase() === domain ? thread?.toLowerCase() : undefined
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}
