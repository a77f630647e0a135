/** How much there is of everything, and how long it takes: on the machine, whose time costs nothing, and where it is everybody's. */
import { PLACES, type Place } from './places.js'

export type Mode = 'in-process' | 'processes'

export interface Pace {
  mode: Mode
  /** Whether commands run under a clock that is right again behind them. */
  hasWrongClocks: boolean
  places: readonly Place[]
  /** Of the model, before each response. */
  delayMsMax: number
  /** What is sent for later comes then. */
  laterMs: number
  reminderSeconds: number[]
  /** Of a provider that limits. */
  retryAfterMs: number
  turnTimeoutMs: number
  /** Of a large message: more than a line of a log takes, but for a process, which is given no word of more than 128 KiB. */
  padCharacters: number
  /** The most steps of each of the four parts of a sequence. */
  partSteps: number
}

export const PACES: Record<Mode, Pace> = {
  'in-process': {
    mode: 'in-process',
    hasWrongClocks: false,
    places: PLACES,
    delayMsMax: 2000,
    laterMs: 3_600_000,
    reminderSeconds: [60, 1800],
    retryAfterMs: 1_800_000,
    turnTimeoutMs: 30_000,
    padCharacters: 70_000,
    partSteps: 36,
  },
  processes: {
    mode: 'processes',
    hasWrongClocks: false,
    places: PLACES,
    delayMsMax: 200,
    laterMs: 1000,
    reminderSeconds: [1],
    retryAfterMs: 500,
    turnTimeoutMs: 1000,
    padCharacters: 10_000,
    partSteps: 10,
  },
}
