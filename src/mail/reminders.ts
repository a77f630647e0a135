/** Reminders that an agent sets for itself. A due reminder is delivered as mail to itself. */
import { clock } from '../clock.js'
import type { ClockReading } from '../host/identity.js'
import { isOver } from '../session/durations.js'
import { deriveId } from '../session/ids.js'
import type { Session } from '../session/session.js'
import type { Reminder } from '../session/state.js'
import type { Delivery } from './message.js'

/**
 * A repeating reminder rings at most once per command. If it became due again during its own turn, the command would
 * never end, and each turn costs money.
 */
export function isRinging({ due_at, every_ms, clock: began }: Reminder, now: ClockReading): boolean {
  return isOver(due_at, began, now) && (every_ms === null || due_at <= new Date(clock.beganAt).toISOString())
}

export function dueReminders(session: Session, now: () => ClockReading): Delivery[] {
  const due = session.state.reminders.filter((reminder) => isRinging(reminder, now()))
  return due.map((reminder) => reminderMail(session, reminder))
}

/** The id is derived from the due time, so a crash cannot deliver one reminder twice. */
function reminderMail(session: Session, { reminder_id, due_at, content }: Reminder): Delivery {
  const { state } = session
  return {
    message_id: deriveId(reminder_id, due_at),
    from: state.id,
    from_path: state.path,
    to: state.id,
    kind: 'notification',
    reply_to: null,
    content: session.text(content),
    control: null,
    key: null,
    digest: '',
    not_before: null,
    clock: null,
    turn_timeout_ms: null,
    created_at: due_at,
    sequence: 0,
    reminder_id,
  }
}
