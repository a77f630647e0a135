/** The part of the audit that is about the tree: who is below whom, what it is called, and the indexes of that. */
import type { State } from '../session/state.js'
import type { FileStore } from '../storage/store.js'
import { type Forest, readForest } from '../tree/forest.js'
import type { Finding } from './finding.js'

export function checkTree(store: FileStore): Finding[] {
  const forest = readForest(store)
  const states = [...forest.agents.values()]
  const strays = states.filter(({ id }) => forest.strays.has(id))
  return [
    ...strays.map(({ id }) =>
      finding(id, "an agent's parent is there, and lives as long as it", forest.strays.get(id)),
    ),
    ...states.flatMap((state) => checkPath(forest, state)),
    ...states.filter(({ state }) => state !== 'terminated').flatMap((state) => checkEntry(store, state)),
  ]
}

function checkPath({ agents }: Forest, { id, name, parent, path }: State): Finding[] {
  const above = parent === null ? undefined : agents.get(parent)
  if (parent !== null && above === undefined) return []
  const expected = above === undefined ? (name ?? id) : `${above.path}/${name ?? id}`
  return path === expected
    ? []
    : [finding(id, "an agent's path is its parent's and its name", `${path} instead of ${expected}`)]
}

/** Names are unique among living siblings, and each leads to its agent; a child without a name stands there by its id. */
function checkEntry(store: FileStore, { id, name, parent }: State): Finding[] {
  if (parent === null && name === null) return []
  if (parent !== null && !store.hasAgent(parent)) return []
  const index = parent === null ? store.rootNames() : store.childNames(parent)
  if (!index.isComplete) return []
  const owner = index.lookUp(name ?? id)
  return owner === id
    ? []
    : [finding(id, 'a living name leads to its agent', `${name ?? id} leads to ${owner}`)]
}

function finding(agent_id: string, invariant: string, detail = ''): Finding {
  return { agent_id, invariant, detail }
}
