/** The indexes of names, looked at from their own side: what each entry says, and whether anybody is there. */
import type { FileStore, NameIndex } from '../storage/store.js'
import { type AddFinding, addFindingTo, type Finding, unlessUnreadable } from './finding.js'

/** That of the roots, and those of the agents. */
export function checkIndexes(store: FileStore, agentIds: string[], findings: Finding[]): void {
  checkIndex(store, store.rootNames(), addFindingTo(findings, null), 'that of the roots')
  for (const id of agentIds) {
    const own: Finding[] = []
    checkIndex(store, store.childNames(id), addFindingTo(own, id), 'that of its children')
    // Of one that was taken away since it was listed nothing is there.
    if (own.length > 0 && store.hasAgent(id)) findings.push(...own)
  }
}

function checkIndex(store: FileStore, index: NameIndex, found: AddFinding, which: string): void {
  unlessUnreadable(store.root, found, () => {
    if (!index.isComplete) found('an index of names is complete', `${which} says that entries may be missing`)
    const dangling = index
      .entries()
      .filter(({ agentId }) => agentId === undefined || !store.hasAgent(agentId))
    // A spawn reserves the name first, and a removal forgets it last, both with the lock.
    if (dangling.length === 0 || index.isHeld) return
    for (const { path, agentId } of dangling) {
      if (agentId === undefined) found('an index entry is intact', 'it says nothing readable', path)
      else if (!store.hasAgent(agentId))
        found('an index entry names an agent', `there is no agent ${agentId}`, path)
    }
  })
}
