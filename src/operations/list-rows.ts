/** `list` at a terminal: the latest change first, with the latest message of each agent. */

import type { ShownAgent } from '../schema/output.js'
import type { ListedAgent } from '../schema/output-overview.js'
import type { Store } from '../storage/store.js'
import { showAgent } from './list-and-show.js'

export function newestFirst(agents: ListedAgent[]): ListedAgent[] {
  return agents.toSorted(byChange)
}

function byChange(a: ListedAgent, b: ListedAgent): number {
  const [x, y] = [changedAt(a), changedAt(b)]
  return x > y ? -1 : x < y ? 1 : a.id < b.id ? -1 : 1
}

function changedAt(agent: ListedAgent): string {
  return 'updated_at' in agent ? agent.updated_at : ''
}

/** The agent whose latest message a row quotes; undefined if it cannot be read or was removed meanwhile. */
export function shownOf(store: Store, agent: ListedAgent): ShownAgent | undefined {
  if (!('state' in agent)) return undefined
  try {
    return showAgent(store, agent.id)
  } catch {
    return undefined
  }
}
