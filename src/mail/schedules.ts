/** Slots of schedules. A due slot is delivered as mail to its own agent, like a reminder. */
import { isSlotDueHere, nowIso } from '../schedule/due.js'
import { missedRecords } from '../schedule/missed.js'
import { missedText, planSlots, type SlotPlan, type SlotRecord } from '../schedule/plan.js'
import { deriveId } from '../session/ids.js'
import type { NewRecord } from '../session/records.js'
import type { Session } from '../session/session.js'
import type { Schedule } from '../session/state.js'
import type { Delivery } from './message.js'

/** The message of a due slot. Undefined if no slot gets a turn. The others follow in later turns, so they need no plan yet. */
export function nextDueSlot(session: Session): Delivery | undefined {
  for (const { schedule, plan } of duePlans(session)) {
    if (plan.turn === undefined) continue
    const { slot, next_at, missed, isMadeUp } = plan.turn
    const { schedule_id, name } = schedule
    // The id is derived from the slot, so no crash and no second process can deliver it twice.
    const message_id = deriveId(schedule_id, slot)
    const records = missed === undefined ? [] : missedRecords(schedule, session.state, missed)
    const named = isMadeUp ? records.map((record) => ({ ...record, message_id })) : records
    const text = session.text(schedule.content)
    const content = isMadeUp && missed !== undefined ? `${text}\n\n${missedText(schedule, missed)}` : text
    const fired = { kind: 'schedule.fired' as const, schedule_id, name, message_id, due_at: slot, next_at }
    const slots = [...named, fired]
    return slotMail(session, schedule, { message_id, content, at: slot, slots })
  }
  return undefined
}

/** Records the due slots that get no turn: those that came too late for `missed: skip`, or that a gate prevented. */
export function recordMissedSlots(session: Session): void {
  if (session.state.schedules === undefined) return
  // Slots after those of a record may have another cause.
  for (;;) {
    const records: NewRecord[] = []
    for (const { plan } of duePlans(session)) records.push(...plan.records)
    if (records.length === 0) return
    session.append(records)
  }
}

function* duePlans({ state }: Session): Generator<{ schedule: Schedule; plan: SlotPlan }> {
  const now = nowIso()
  for (const schedule of state.schedules ?? [])
    if (isSlotDueHere(schedule, now)) yield { schedule, plan: planSlots(schedule, state, now) }
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
