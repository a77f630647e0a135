/** Messages between agents, posted and forged. */
import { randomUUID } from 'node:crypto'
import { needsVisit } from '../../src/dispatch/pending-visits.js'
import type { Message } from '../../src/mail/message.js'
import { type Draft, post } from '../../src/mail/post.js'
import { digestOf } from '../../src/session/ids.js'
import type { NewRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import type { FileStore } from '../../src/storage/file-store.js'
import { frame } from '../../src/storage/log/frame.js'
import { putMessage } from '../../src/storage/maildir.js'

/** From the operator by default. */
export function draft(to: string, content: string, over: Partial<Draft> = {}): Draft {
  const from = over.from ?? 'operator'
  return { message_id: randomUUID(), from, from_path: from, to, kind: 'request', content, ...over }
}

/** Returns its id. */
export function posted(store: FileStore, to: string, content: string, over: Partial<Draft> = {}): string {
  const message = draft(to, content, over)
  if (!post(store, message)) throw new Error(`message ${message.message_id} was posted before`)
  return message.message_id
}

/** The message as stored in the inbox. */
export function stored(to: string, content: string, over: Partial<Message> = {}): Message {
  return {
    reply_to: null,
    control: null,
    key: null,
    not_before: null,
    clock: null,
    turn_timeout_ms: null,
    digest: digestOf(content),
    created_at: '2026-11-20T10:00:00.000Z',
    sequence: 1,
    ...draft(to, content),
    ...over,
  }
}

/** Writes it to the inbox without any check; returns its id. */
export function forged(store: FileStore, to: string, content: string, over: object = {}): string {
  const message = { ...stored(to, content), ...over } as Message
  putMessage(store.mail.pathOf(to, message.message_id), frame(message))
  return message.message_id
}

export function deliveredRecord(
  runId: string,
  over: Partial<NewRecord<'mail.delivered'>> = {},
): NewRecord<'mail.delivered'> {
  return {
    kind: 'mail.delivered',
    run_id: runId,
    message_id: randomUUID(),
    from: 'operator',
    mail_kind: 'request',
    content: 'hi',
    sent_at: '2026-11-20T10:00:00.000Z',
    ...over,
  }
}

/** Every stored message of the inbox. */
export function mailOf(store: FileStore, to: string): Message[] {
  return store.mail.ids(to).map((id) => {
    const line = store.mail.read(to, id) as { object: unknown }
    return line.object as Message
  })
}

/** Whether a holder that leaves the agent now keeps its marker. */
export function keepsMarker(store: FileStore, state: State): boolean {
  return needsVisit(store, state) || store.mail.holdsAny(state.id)
}
