/** A home after a storm, as the promises are held against it. */
import type { PlannedAgent } from './family.js'
import type { Seen } from './seen.js'
import type { Sent } from './sent.js'
import type { Entry } from './storm.js'

/** The sentences that do not hold. */
export type Broken = Iterable<string>

export interface Home {
  home: string
  seen: Seen
  sent: Sent[]
  ledger: Entry[]
  family: PlannedAgent[]
}
