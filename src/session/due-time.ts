/** When a slot of a schedule is due. */
import { sha256Hex } from '../start/hash.js'
import type { Schedule } from './state.js'

type Timed = Pick<Schedule, 'schedule_id' | 'jitter_ms'>

/** The slot with its jitter, which follows from the slot: each process computes the same. */
export function dueTime({ schedule_id, jitter_ms }: Timed, slot: string): string {
  if (jitter_ms === 0) return slot
  const random = Number.parseInt(sha256Hex(`${schedule_id} ${slot}`).slice(0, 12), 16) / 2 ** 48
  return new Date(Date.parse(slot) + Math.floor(random * jitter_ms)).toISOString()
}
