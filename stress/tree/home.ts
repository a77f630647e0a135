/** A home after a storm, as input of the promises. */
import type { PlannedAgent } from './family.js'
import type { Seen } from './seen.js'
import type { Sent } from './sent.js'
import type { Entry } from './storm.js'

/** The promises that do not hold, as sentences. */
export type Broken = Iterable<string>

export interface Home {
  home: string
  seen: Seen
  sent: Sent[]
  ledger: Entry[]
  family: PlannedAgent[]
}
