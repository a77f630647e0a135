/** Checks the rows of a home in a database: the store compares its tables with each other. A home in files has none. */
import type { Store } from '../storage/store.js'
import { addFindingTo, type Finding } from './finding.js'

export function checkRows({ upkeep }: Store, findings: Finding[]): void {
  for (const { agentId, detail, path, isLoss } of upkeep.rowTroubles?.() ?? []) {
    const invariant = isLoss
      ? 'the server of a home has kept every change'
      : 'the rows of a home in a database agree'
    addFindingTo(findings, agentId)(invariant, detail, path)
  }
}
