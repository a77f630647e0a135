/**
 * A read-only audit of a home: the invariants that the other layers state, looked at from outside. The stress suites and the
 * tests use it as their oracle, `doctor` shows it to a person (see `auditHome`).
 *
 * `checkHome` tells what no crash may leave behind. What only recovery has not looked at yet (an open run, a marker, a torn
 * tail) is a finding only where `isRecovered` says that it has.
 */
import type { FileStore } from '../storage/store.js'
import { checkAgent } from './check-agent.js'
import { checkOperatorAndMarkers } from './check-beside.js'
import { checkIndexes } from './check-names.js'
import { checkTree } from './check-tree.js'
import type { Finding } from './finding.js'
import { INVARIANTS } from './invariants.js'

export type { Finding } from './finding.js'

export interface CheckOptions {
  /** Whether `recover --all` has run since anything was last killed. */
  isRecovered: boolean
}

export function checkHome(store: FileStore, { isRecovered }: CheckOptions): Finding[] {
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
