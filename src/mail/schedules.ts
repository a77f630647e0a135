/** Slots of schedules. A due slot is delivered as mail to its own agent, like a reminder. */
import { isSlotDueHere, nowIso } from '../schedule/due.js'
import { missedText, planSlots, type SlotPlan, type SlotRecord } from '../schedule/plan.js'
import { deriveId } from '../session/ids.js'
import type { Session } from '../session/session.js'
import type { Schedule } from '../session/state.js'
import type { Delivery } from './message.js'

/** The message of the next due slot of each schedule. */
export function dueSlots(session: Session): Delivery[] {
  return duePlans(session).flatMap(({ schedule, plan: { turn } }) => {
    if (turn === undefined) return []
    const { slot, next_at, missed, isMadeUp } = turn
    const { schedule_id, name } = schedule
    // The id is derived from the slot, so no crash and no second process can deliver it twice.
    const message_id = deriveId(schedule_id, slot)
    const named = missed === undefined ? undefined : isMadeUp ? { ...missed, message_id } : missed
    const text = session.text(schedule.content)
    const content = isMadeUp && missed !== undefined ? `${text}\n\n${missedText(schedule, missed)}` : text
    const fired = { kind: 'schedule.fired' as const, schedule_id, name, message_id, due_at: slot, next_at }
    return [
      slotMail(session, schedule, {
        message_id,
        content,
        at: slot,
        slots: [...(named ? [named] : []), fired],
      }),
    ]
  })
}

/** Records the due slots that get no turn: those that came too late for `missed: skip`. */
export function recordMissedSlots(session: Session): void {
  if (session.state.schedules === undefined) return
  session.append(duePlans(session).flatMap(({ plan: { missed } }) => (missed === undefined ? [] : [missed])))
}

function duePlans({ state }: Session): { schedule: Schedule; plan: SlotPlan }[] {
  const now = nowIso()
  const due = (state.schedules ?? []).filter((schedule) => isSlotDueHere(schedule, now))
  return due.map((schedule) => ({ schedule, plan: planSlots(schedule, state, now) }))
}

export function slotMail(
  { state }: Session,
  { schedule_id, name }: Schedule,
  of: { message_id: string; content: string; at: string; slots: SlotRecord[] },
): Delivery {
  const { message_id, content, at, slots } = of
  return {
    message_id,
    from: state.id,
    from_path: name,
    to: state.id,
    kind: 'notification',
    reply_to: null,
    content,
    control: null,
    key: null,
    digest: '',
    not_before: null,
    clock: null,
    turn_timeout_ms: null,
    created_at: at,
    sequence: 0,
    schedule_id,
    slots,
  }
}
