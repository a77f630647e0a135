/** Checks the tree: parents, paths, and the name indexes that must agree with them. */
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { type Forest, readForest } from '../tree/forest.js'
import { type AddFinding, addFindingTo, type Finding, unlessUnreadable } from './finding.js'

export function checkTree(store: Store, findings: Finding[], forest = readForest(store)): void {
  for (const state of forest.agents.values()) {
    const found = addFindingTo(findings, state.id)
    const why = forest.strays.get(state.id)
    if (why !== undefined) found("an agent's parent exists and outlives it", why)
    checkPath(forest, state, found)
    if (state.state !== 'terminated')
      unlessUnreadable(store.address, found, () => checkEntry(store, state, found))
  }
}

function checkPath({ agents }: Forest, { id, name, parent, path }: State, found: AddFinding): void {
  const above = parent === null ? undefined : agents.get(parent)
  if (parent !== null && above === undefined) return
  const expected = above === undefined ? (name ?? id) : `${above.path}/${name ?? id}`
  if (path !== expected)
    found(
      "an agent's path is its parent's path and its name",
      `the path is ${path}; it should be ${expected}`,
    )
}

/** A name is unique among living siblings and resolves to its agent. A child without a name is indexed by its id. */
function checkEntry(store: Store, { id, name, parent }: State, found: AddFinding): void {
  if (parent === null && name === null) return
  if (parent !== null && !store.hasAgent(parent)) return
  const index = parent === null ? store.names(null) : store.names(parent)
  // No command trusts a miss in an incomplete index or behind a damaged entry.
  if (!index.isMissTrusted(name ?? id)) return
  const owner = index.lookUp(name ?? id)
  if (owner !== id)
    found(
      'the name of a living agent resolves to it',
      `the name ${name ?? id} resolves to ${owner ?? 'no agent'}`,
    )
}
