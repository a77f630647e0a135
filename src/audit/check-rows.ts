/** Checks the rows of a home in a database: the store compares its tables with each other. A home in files has none. */
import type { Store } from '../storage/store.js'
import { addFindingTo, type Finding } from './finding.js'

export function checkRows({ upkeep }: Store, findings: Finding[]): void {
  for (const { agentId, detail, path } of upkeep.rowTroubles?.() ?? [])
    addFindingTo(findings, agentId)('the rows of a home in a database agree', detail, path)
}
