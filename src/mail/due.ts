/** The messages of an inbox that could be delivered now. Each is read once in a visit, and its content again if that is long. */
import { type ClockReading, readClock } from '../host/identity.js'
import { isOver, isSetBack, rebasedEnd } from '../session/durations.js'
import type { Session } from '../session/session.js'
import type { Store } from '../storage/store.js'
import type { Delivery, Message } from './message.js'
import { inOrder } from './order.js'
import { eachHeader, forgetRead, type Header, headerReaderOf, readMessage } from './stored-messages.js'

/** A due message. `read` returns it with its content. */
export interface Due
  extends Pick<Message, 'message_id' | 'from' | 'kind' | 'key' | 'digest' | 'created_at' | 'sequence'> {
  size: number
  read(): Delivery | undefined
}

/** The clock at the first message that needs it. Most are due at any time, and a reading opens a file. */
export type Now = () => ClockReading

export function clockOfLook(): Now {
  let reading: ClockReading | undefined
  return () => {
    reading ??= readClock()
    return reading
  }
}

/** The due messages of one sender, in order. Reads no file that the visit has read before. */
export function dueMailFrom(session: Session, from: string): Due[] {
  return session.mailIds.length === 0
    ? []
    : dueMails(session, clockOfLook()).filter((mail) => mail.from === from)
}

export function dueMails(session: Session, now: Now): Due[] {
  const { store, state, mailIds } = session
  const due: Due[] = []
  for (const header of eachHeader(store, state, mailIds, headerReaderOf(session))) {
    if (header.kind === 'control') continue
    if (isDue(header, now)) due.push(asDue(header, () => withContent(store, header)))
    else rebaseDelay(session, header, now)
  }
  return due.sort(inOrder)
}

export function asDue(mail: Header | Delivery, read: () => Delivery | undefined): Due {
  const { message_id, from, kind, key, digest, created_at, sequence, content = '' } = mail
  const size = 'size' in mail ? mail.size : content.length
  return { message_id, from, kind, key, digest, created_at, sequence, size, read }
}

function withContent(store: Store, header: Header): Message | undefined {
  const { size: _, content, ...rest } = header
  return content === undefined ? readMessage(store, header.to, header.message_id) : { ...rest, content }
}

export function isDue({ not_before, clock }: Header, now: Now): boolean {
  return not_before === null || isOver(not_before, clock, now())
}

/**
 * If the clock was set back, counts the rest of a delay from now. A crash leaves the old message file or the new one.
 */
function rebaseDelay(session: Session, header: Header, now: Now): void {
  const { to, message_id, not_before, clock } = header
  if (not_before === null || clock === null || !isSetBack(clock, now())) return
  const message = withContent(session.store, header)
  if (message === undefined) return
  const rebased = { ...message, not_before: rebasedEnd(not_before, clock, now()), clock: now() }
  session.store.mail.replace(to, message_id, rebased)
  forgetRead(session, message_id)
}
