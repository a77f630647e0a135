/** Promises about the tree: it matches the acknowledged commands, and has no orphans. */
import { resolveAgent } from '../../src/tree/names.js'
import type { Broken, Home } from './home.js'
import { groupBy, type Seen } from './seen.js'

/** Holds even if the command was killed after it printed the id. */
const PRINTED = /^[0-9a-f-]{36}$/m

export function* treeIsAsAcknowledged({ seen, ledger, family }: Home): Broken {
  for (const { operation, told } of ledger) {
    const [id] = PRINTED.exec(told.stdout) ?? []
    if (operation.path === undefined || id === undefined) continue
    const agent = seen.byId(id)
    if (agent?.state.path !== operation.path)
      yield `an agent with a printed id exists: ${id} as ${operation.path}, not ${agent?.state.path}`
  }
  for (const { state } of seen.agents) {
    const parent = seen.byId(state.parent)
    const path = parent === undefined ? state.name : `${parent.state.path}/${state.name}`
    if (state.parent !== null && parent === undefined) yield `a parent exists: that of ${state.path} does not`
    if (state.path !== path) yield `a path is the parent's path and a name: ${state.path}, not ${path}`
    if (state.state === 'terminated') continue
    if (parent?.state.state === 'terminated')
      yield `the parent of a living agent lives: that of ${state.path} does not`
    if (idAt(seen, state.path) !== state.id) yield `a living agent is found by its path: ${state.path}`
  }
  const living = seen.agents.filter(({ state }) => state.state !== 'terminated')
  for (const [place, found] of groupBy(living, ({ state }) => `${state.name} below ${state.parent}`))
    if (found.length > 1) yield `a name is unique among living siblings: ${found.length} are called ${place}`
  for (const { path, isDoomed } of family)
    if (seen.at(path).length !== 1 && !(isDoomed && seen.at(path).length > 0))
      yield `each planned agent exists once: ${path} exists ${seen.at(path).length} times`
}

function idAt({ store }: Seen, path: string): string | undefined {
  try {
    return resolveAgent(store, path)
  } catch {
    return undefined
  }
}
