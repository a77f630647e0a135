/**
 * The whole tree, or one branch, read without locks: each agent's own log names its parent. An agent without a place (a
 * forged cycle or dangling parent, an unreadable log) is a stray. It is listed with the reason, and the agents below it
 * stay below it.
 *
 * Invariant: each agent is in the forest once, as a root, below its parent, or as a stray.
 */
import { SubstratError } from '../errors.js'
import { recordsFrom } from '../session/load.js'
import { peekState } from '../session/peek-state.js'
import { snapshotAlone } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'

/** The fields that decide an agent's place in the tree. */
type Kin = Pick<State, 'id' | 'parent' | 'path' | 'state' | 'created_at'>

/** How an agent is read: with `peekState`, or a function that reads less. */
type Look<A extends Kin> = (store: Store, agentId: string) => A | undefined

export interface Forest<A extends Kin = State> {
  /** The readable agents. */
  agents: Map<string, A>
  /** The children of each parent, oldest first, including strays and terminated agents. */
  children: Map<string, string[]>
  /** The reason why each stray has no place. */
  strays: Map<string, string>
  /** Oldest first. */
  roots: string[]
}

/** Every agent of the home. */
export function readForest(store: Store): Forest {
  return forestOf(store, peekState)
}

/** The same, but reads only part of each state. */
export function forestOf<A extends Kin>(store: Store, look: Look<A>): Forest<A> {
  return buildForest(store, store.agentIds(), look)
}

/**
 * The agents above and below one agent, found by the indexes, or all agents if an index is incomplete. A terminated
 * agent may have lost its entry to a later one of its name, so with `isWhole` every agent is read.
 */
export function branchOf<A extends Kin>(
  store: Store,
  agentId: string,
  isWhole: boolean,
  look: Look<A>,
): Forest<A> {
  const ids = isWhole ? undefined : branchIds(store, agentId)
  return buildForest(store, ids ?? store.agentIds(), look)
}

/** The agent and all agents below it, the lowest first. A cycle is followed once. */
export function lowestFirst({ children }: Pick<Forest, 'children'>, agentId: string): string[] {
  const order: string[] = []
  const seen = new Set([agentId])
  const visit = (id: string): void => {
    for (const child of children.get(id) ?? []) if (!seen.has(child) && seen.add(child)) visit(child)
    order.push(id)
  }
  visit(agentId)
  return order
}

/** Whether an agent is below another at any depth. Reads the agents between them. */
export function isBelow(store: Store, agent: State, ancestorId: string): boolean {
  const seen = new Set<string>()
  for (
    let id = agent.parent;
    id !== null && !seen.has(id);
    id = read(store, id, peekState).state?.parent ?? null
  ) {
    if (id === ancestorId) return agent.id !== ancestorId
    seen.add(id)
  }
  return false
}

function branchIds(store: Store, agentId: string): string[] | undefined {
  const ids = new Set<string>()
  for (
    let id: string | null = agentId;
    id !== null && !ids.has(id);
    id = read(store, id, peekState).state?.parent ?? null
  )
    ids.add(id)
  const seen = new Set([agentId])
  for (const id of seen) {
    const below = store.names(id).ids()
    if (below === undefined) return undefined
    for (const child of below) seen.add(child)
  }
  return [...new Set([...ids, ...seen])]
}

function buildForest<A extends Kin>(store: Store, ids: string[], look: Look<A>): Forest<A> {
  const agents = new Map<string, A>()
  const strays = new Map<string, string>()
  const parents = new Map<string, string>()
  const missing = (): string[] =>
    [...new Set(parents.values())].filter((id) => !agents.has(id) && !strays.has(id) && store.hasAgent(id))
  const add = (id: string): void => {
    const { state, why } = read(store, id, look)
    const parent = state === undefined ? firstParent(store, id) : state.parent
    if (why !== undefined) strays.set(id, why)
    if (state !== undefined) agents.set(id, state)
    if (parent !== null && (state !== undefined || why !== undefined)) parents.set(id, parent)
  }
  store.readAhead(ids)
  try {
    // Also reads a parent that is not in the list or was spawned since.
    for (let next = ids; next.length > 0; next = missing()) for (const id of next) add(id)
  } finally {
    store.readAhead([])
  }
  for (const state of [...agents.values()]) nameStray(store, { agents, strays }, state, look)
  for (const id of inCycles(agents)) strays.set(id, 'its ancestors form a cycle')
  return { agents, strays, ...linkAgents(agents, strays, parents) }
}

/** Without locks, an agent that was just created can look like a stray, so it is read again after its parent. */
function nameStray<A extends Kin>(
  store: Store,
  { agents, strays }: Pick<Forest<A>, 'agents' | 'strays'>,
  state: A,
  look: Look<A>,
): void {
  const { id, parent } = state
  if (parent === null || strays.has(parent)) return
  const above = agents.get(parent)
  if (above !== undefined && (above.state !== 'terminated' || state.state === 'terminated')) return
  if (above === undefined && store.hasAgent(parent)) return
  const now = read(store, id, look).state
  if (now === undefined) {
    if (!store.hasAgent(id)) agents.delete(id)
    return
  }
  agents.set(id, now)
  if (above === undefined) strays.set(id, `its parent ${parent} does not exist`)
  else if (now.state !== 'terminated')
    strays.set(id, `it is alive, but its parent ${above.path} is terminated`)
}

/** The agents that are their own ancestors. */
function inCycles(agents: Map<string, Kin>): string[] {
  const done = new Set<string>()
  const found: string[] = []
  for (const [start, { parent }] of agents) {
    if (parent === null) continue
    const way: string[] = []
    let id: string | null | undefined = start
    while (id != null && !done.has(id) && !way.includes(id)) {
      way.push(id)
      id = agents.get(id)?.parent
    }
    if (id != null && !done.has(id)) found.push(...way.slice(way.indexOf(id)))
    for (const each of way) done.add(each)
  }
  return found
}

function linkAgents(
  agents: Map<string, Kin>,
  strays: Map<string, string>,
  parents: Map<string, string>,
): Pick<Forest, 'children' | 'roots'> {
  const children = new Map<string, string[]>()
  const roots: string[] = []
  const byCreation: { id: string; created_at: string }[] = [...agents.values()]
  for (const id of strays.keys()) if (!agents.has(id)) byCreation.push({ id, created_at: '' })
  for (const { id } of byCreation.sort(oldestFirst)) {
    const parent = parents.get(id)
    if (parent === undefined) {
      if (!strays.has(id)) roots.push(id)
    } else {
      const siblings = children.get(parent)
      if (siblings === undefined) children.set(parent, [id])
      else siblings.push(id)
    }
  }
  return { children, roots }
}

export function oldestFirst(a: { id: string; created_at: string }, b: typeof a): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** Returns neither field if the agent was removed since it was listed. */
function read<A extends Kin>(store: Store, id: string, look: Look<A>): { state?: A; why?: string } {
  try {
    const state = look(store, id)
    if (state !== undefined) return { state }
    return store.hasAgent(id) ? { why: `${store.label({ kind: 'log', agentId: id })} is missing` } : {}
  } catch (error) {
    // Catch any error: forged bytes may have a valid checksum and still break every assumption of the reader.
    return store.hasAgent(id) ? { why: (error as Error).message } : {}
  }
}

/** The parent of an agent whose log is damaged: from its first record, else its snapshot. A parent never changes. */
export function firstParent(store: Store, id: string): string | null {
  return attempt(() => parentInLog(store, id)) ?? attempt(() => parentInSnapshot(store, id)) ?? null
}

function parentInLog(store: Store, id: string): string | null | undefined {
  const log = store.openLog(id)
  try {
    if (log === undefined) return undefined
    const [first] = recordsFrom(log, { seq: 1, offset: 0 })
    return first?.record.kind === 'session.created' ? first.record.parent : undefined
  } finally {
    log?.close()
  }
}

function parentInSnapshot(store: Store, id: string): string | null | undefined {
  return snapshotAlone(store.upkeep.readSnapshot(id), id)?.parent
}

/** Undefined if the read fails with a `SubstratError`. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SubstratError) return undefined
    throw error
  }
}
