/** The agents as rows of a tree, in the order in which they are drawn. */
import type { ListedAgent } from '../api/types.js'

export interface TreeRow {
  agent: ListedAgent
  /** From 1. */
  level: number
  /** Its place among its siblings, from 1, and their number. */
  place: number
  siblings: number
  children: number
  isOpen: boolean
}

/** Without `wanted`: the tree, without what is below closed agents. With it: a flat list of the agents that match. */
export function treeRows(
  agents: Iterable<ListedAgent>,
  closed: ReadonlySet<string>,
  wanted: ((agent: ListedAgent) => boolean) | undefined,
): TreeRow[] {
  const all = [...agents]
  if (wanted !== undefined) return flatRows(all.filter(wanted))
  const known = new Set(all.map(({ id }) => id))
  const children = new Map<string | null, ListedAgent[]>()
  for (const agent of all) {
    // The parent may be terminated, and then it is not in the list.
    const parent = parentOf(agent)
    const under = parent !== null && known.has(parent) ? parent : null
    const siblings = children.get(under)
    if (siblings === undefined) children.set(under, [agent])
    else siblings.push(agent)
  }
  return rowsUnder(null, 1, children, closed)
}

function parentOf(agent: ListedAgent): string | null {
  return 'parent' in agent ? agent.parent : null
}

function rowsUnder(
  parent: string | null,
  level: number,
  children: ReadonlyMap<string | null, ListedAgent[]>,
  closed: ReadonlySet<string>,
): TreeRow[] {
  const siblings = children.get(parent) ?? []
  return siblings.flatMap((agent, index) => {
    const count = children.get(agent.id)?.length ?? 0
    const isOpen = count > 0 && !closed.has(agent.id)
    const row = { agent, level, place: index + 1, siblings: siblings.length, children: count, isOpen }
    return isOpen ? [row, ...rowsUnder(agent.id, level + 1, children, closed)] : [row]
  })
}

function flatRows(agents: ListedAgent[]): TreeRow[] {
  return agents.map((agent, index) => ({
    agent,
    level: 1,
    place: index + 1,
    siblings: agents.length,
    children: 0,
    isOpen: false,
  }))
}
