/** Checks the entries of the name indexes: each is intact and names an agent that exists. */
import type { Names, Store } from '../storage/store.js'
import { type AddFinding, addFindingTo, type Finding, unlessUnreadable } from './finding.js'

/** Checks the index of the roots, and each agent's index of its children. */
export function checkIndexes(store: Store, agentIds: string[], findings: Finding[]): void {
  checkIndex(store, store.names(null), addFindingTo(findings, null), 'the name index of the roots')
  for (const id of agentIds) {
    const own: Finding[] = []
    checkIndex(store, store.names(id), addFindingTo(own, id), 'the name index of its children')
    // Another command may have removed the agent since the audit listed it.
    if (own.length > 0 && store.hasAgent(id)) findings.push(...own)
  }
}

function checkIndex(store: Store, index: Names, found: AddFinding, which: string): void {
  unlessUnreadable(store.address, found, () => {
    if (!index.isComplete) found('an index of names is complete', `${which} may lack entries`)
    const dangling = index
      .entries()
      .filter(({ agentId }) => agentId === undefined || !store.hasAgent(agentId))
    // Under the lock a dangling entry is normal: a spawn reserves the name first, and a removal deletes the entry last.
    if (dangling.length === 0 || index.isHeld) return
    for (const { path, agentId } of dangling) {
      if (agentId === undefined) found('an index entry is intact', `${path} contains no agent id`, path)
      else if (!store.hasAgent(agentId))
        found('an index entry names an agent', `agent ${agentId} does not exist`, path)
    }
  })
}
