/**
 * A read-only audit of a home against the invariants that the other layers state. It is the oracle of the stress suites and
 * of the tests. `doctor` runs the same checks through `auditHome`.
 *
 * `checkHome` reports what no crash may leave. An open run, a marker or a truncated tail is a finding only if `isRecovered`
 * is true, because recovery clears them.
 */
import type { Store } from '../storage/store.js'
import { checkAgent } from './check-agent.js'
import { checkOperatorAndMarkers } from './check-beside.js'
import { checkIndexes } from './check-names.js'
import { checkTree } from './check-tree.js'
import type { Finding } from './finding.js'
import { INVARIANTS } from './invariants.js'

export type { Finding } from './finding.js'

export interface CheckOptions {
  /** Whether `recover --all` has run since the last kill. */
  isRecovered: boolean
}

export function checkHome(store: Store, { isRecovered }: CheckOptions): Finding[] {
  const findings: Finding[] = []
  for (const agentId of store.agentIds()) checkAgent(store, agentId, findings)
  checkOperatorAndMarkers(store, findings)
  checkTree(store, findings)
  checkIndexes(store, store.agentIds(), findings)
  return findings.filter(({ invariant }) => {
    const { left } = INVARIANTS[invariant]
    return left === 'never' || (left === 'until recovery' && isRecovered)
  })
}
