import { KEEPING } from './keeping.js'
import { KEYS } from './keys.js'
import { MAIL } from './mail.js'
import { MENDING } from './mending.js'
import type { Scenario } from './scenario.js'
import { SENDING } from './sending.js'
import { SPAWNING } from './spawning.js'
import { WAITING } from './waiting.js'

/** The commands that the power is cut under. */
export const SCENARIOS: Scenario[] = [
  ...SPAWNING,
  ...SENDING,
  ...KEYS,
  ...WAITING,
  ...MAIL,
  ...KEEPING,
  ...MENDING,
]
