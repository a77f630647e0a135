/** Sizes and times of the sequences: for the machine, whose time is free, and for real processes. */
import { PLACES, type Place } from './places.js'

/** `postgres`: real processes on homes in a database. */
export type Mode = 'in-process' | 'processes' | 'postgres'

export interface Pace {
  mode: Mode
  /** Whether some commands run under a wrong clock, which is correct again afterwards. */
  hasWrongClocks: boolean
  places: readonly Place[]
  /** The model's delay before each response. */
  delayMsMax: number
  /** The delay of a scheduled message. */
  laterMs: number
  reminderSeconds: number
  /** Without a twin. In a twin other commands end before the reminder is due, because no fault takes time there. */
  soonReminderSeconds: number
  /** The retry-after of a rate-limiting provider. */
  retryAfterMs: number
  turnTimeoutMs: number
  /**
   * The size of a large message: more than one line of a log holds. For a real process less, because Linux limits one
   * argument to 128 KiB.
   */
  padCharacters: number
  /** The maximum number of steps in each of the four parts of a sequence. */
  partSteps: number
}

const PROCESSES: Pace = {
  mode: 'processes',
  hasWrongClocks: false,
  places: PLACES,
  delayMsMax: 200,
  laterMs: 1000,
  reminderSeconds: 1,
  soonReminderSeconds: 1,
  retryAfterMs: 500,
  turnTimeoutMs: 1000,
  padCharacters: 10_000,
  partSteps: 10,
}

export const PACES: Record<Mode, Pace> = {
  'in-process': {
    mode: 'in-process',
    hasWrongClocks: false,
    places: PLACES,
    delayMsMax: 2000,
    laterMs: 3_600_000,
    reminderSeconds: 1800,
    soonReminderSeconds: 60,
    retryAfterMs: 1_800_000,
    turnTimeoutMs: 30_000,
    padCharacters: 70_000,
    partSteps: 36,
  },
  processes: PROCESSES,
  postgres: { ...PROCESSES, turnTimeoutMs: 2000 },
}
