/** When a message is due, and what the choice of messages needs to know of it. */
import { type ClockReading, readClock } from '../host/identity.js'
import { hasOwnOptions } from '../schema/message.js'
import { isOver, isSetBack, rebasedEnd } from '../session/durations.js'
import type { Session } from '../session/session.js'
import type { Store } from '../storage/store.js'
import type { Delivery, Message } from './message.js'
import { forgetRead, type Header, readMessage } from './stored-messages.js'

/** A due message. `read` returns it with its content. */
export interface Due
  extends Pick<Message, 'message_id' | 'from' | 'kind' | 'key' | 'digest' | 'created_at' | 'sequence'> {
  /** See `hasTurnAlone`. */
  isAlone: boolean
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

export function asDue(mail: Header | Delivery, read: () => Delivery | undefined): Due {
  const { message_id, from, kind, key, digest, created_at, sequence, content = '' } = mail
  const size = 'size' in mail ? mail.size : content.length
  return {
    message_id,
    from,
    kind,
    key,
    digest,
    created_at,
    sequence,
    isAlone: hasTurnAlone(mail),
    size,
    read,
  }
}

/**
 * The outcome of a key or a slot is the outcome of its turn, and a limit or a right of one message must not apply to another. So such
 * messages share their turn with no other, as requests do.
 */
function hasTurnAlone(mail: Header | Delivery): boolean {
  return mail.kind === 'request' || mail.key !== null || 'schedule_id' in mail || hasOwnOptions(mail)
}

export function withContent(store: Store, header: Header): Message | undefined {
  const { size: _, content, ...rest } = header
  return content === undefined ? readMessage(store, header.to, header.message_id) : { ...rest, content }
}

export function isDue({ not_before, clock }: Header, now: Now): boolean {
  return not_before === null || isOver(not_before, clock, now())
}

/**
 * If the clock was set back, counts the rest of a delay from now. A crash leaves the old message file or the new one.
 */
export function rebaseDelay(session: Session, header: Header, now: Now): void {
  const { to, message_id, not_before, clock } = header
  if (not_before === null || clock === null || !isSetBack(clock, now())) return
  const message = withContent(session.store, header)
  if (message === undefined) return
  const rebased = { ...message, not_before: rebasedEnd(not_before, clock, now()), clock: now() }
  session.store.mail.replace(to, message_id, rebased)
  forgetRead(session, message_id)
}
