/**
 * The children of an agent. The parent's `children/` has an entry for each child, by name or, for a child without a
 * name, by id. This is only an index: the truth is the parent in each agent's own log.
 *
 * Invariants: the parent of a living agent is alive. A living child has an entry, unless the index is incomplete or
 * damaged.
 */
import { SubstratError } from '../errors.js'
import { openForRead } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import type { NameEntry, Names, Right, Store } from '../storage/store.js'
import { firstParent } from './forest.js'

/** The living children that can be read, oldest first. */
export function livingChildren(store: Store, parentId: string): State[] {
  return childrenOf(store, parentId).filter(({ state }) => state !== 'terminated')
}

/** Includes terminated children, except those whose name a later child has taken. */
export function childrenOf(store: Store, parentId: string): State[] {
  const ids = store.names(parentId).ids() ?? store.agentIds()
  return ids
    .map((id) => (store.hasAgent(id) ? readableState(store, id) : undefined))
    .filter((agent): agent is State => agent?.parent === parentId)
    .sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/** The agent and all living agents below it, the lowest first. A forged cycle is followed once. */
export function livingBelow(store: Store, agent: State): State[] {
  const seen = new Set<string>([agent.id])
  const visit = (parent: State): State[] => [
    ...livingChildren(store, parent.id)
      .filter(({ id }) => !seen.has(id) && seen.add(id))
      .flatMap(visit),
    parent,
  ]
  return visit(agent)
}

/**
 * Locks the index of a parent's children, and completes it if all agents can be read. Until the release, no agent is
 * spawned below the parent, and the parent does not end.
 */
export async function lockChildren(
  store: Store,
  parentId: string,
  command: string,
): Promise<{ index: Names; lock: Right }> {
  const index = store.names(parentId)
  const lock = await index.lock(command)
  try {
    if (!index.isComplete) rebuild(index, store.agentIds(), store, (agent) => agent.parent === parentId)
    return { index, lock }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** The same for the roots. Only roots with a name are in their index. */
export async function lockRoots(store: Store, command: string): Promise<{ index: Names; lock: Right }> {
  const index = store.names(null)
  const lock = await index.lock(command)
  try {
    if (!index.isComplete)
      rebuild(index, store.agentIds(), store, (agent) => agent.parent === null && agent.name !== null)
    return { index, lock }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Restores the entry of every living child or root and removes dangling entries, even if the index is marked complete.
 * `candidates` may lack agents that were spawned since: those have their entries.
 */
export async function mendIndex(
  store: Store,
  parentId: string | null,
  candidates: string[],
  isEveryAgentRead: boolean,
  command: string,
): Promise<void> {
  const index = parentId === null ? store.names(null) : store.names(parentId)
  const lock = await index.lock(command)
  try {
    for (const entry of index.entries())
      if (entry.agentId === undefined || !store.hasAgent(entry.agentId)) index.discard(entry)
    for (const agent of candidates.map((id) => readableState(store, id))) {
      if (agent === undefined || agent.state === 'terminated' || agent.parent !== parentId) continue
      const name = agent.name ?? (parentId === null ? undefined : agent.id)
      if (name !== undefined && index.lookUp(name) !== agent.id) index.reserve(name, agent.id)
    }
    if (isEveryAgentRead && !index.isComplete) index.markComplete()
  } finally {
    await lock.release()
  }
}

/**
 * Removes the entries that lead to no agent, from the index of the roots and from that of each agent. A spawn or a removal that died
 * leaves one. The lock shows that no spawn is about to create the agent. Returns whether all are removed: not those of an index that
 * another process holds.
 */
export async function discardDangling(store: Store, command: string): Promise<boolean> {
  let isDone = true
  for (const parentId of [null, ...store.agentIds()]) {
    const index = store.names(parentId)
    const dangling = (): NameEntry[] =>
      index.entries().filter(({ agentId }) => agentId !== undefined && !store.hasAgent(agentId))
    if (dangling().length === 0) continue
    if (index.isHeld) {
      isDone = false
      continue
    }
    const lock = await lockUnlessRemoved(store, parentId, index, command)
    if (lock === undefined) continue
    try {
      for (const entry of dangling()) index.discard(entry)
    } finally {
      await lock.release()
    }
  }
  return isDone
}

/** Removes the entry of a removed agent, which would otherwise count as a child. */
export async function forgetName(
  store: Store,
  { id, name, parent }: Pick<State, 'id' | 'name' | 'parent'>,
  command: string,
): Promise<void> {
  if (parent === null ? name === null : !store.hasAgent(parent)) return
  const index = parent === null ? store.names(null) : store.names(parent)
  const lock = await lockUnlessRemoved(store, parent, index, command)
  if (lock === undefined) return
  try {
    // A later agent may have taken the name.
    if (index.lookUp(name ?? id) === id) index.forget(name ?? id)
  } finally {
    await lock.release()
  }
}

/** Undefined if the parent was removed meanwhile, with its index. */
async function lockUnlessRemoved(
  store: Store,
  parentId: string | null,
  index: Names,
  command: string,
): Promise<Right | undefined> {
  try {
    return await index.lock(command)
  } catch (error) {
    if (parentId !== null && !store.hasAgent(parentId)) return undefined
    throw error
  }
}

/** Whether a child keeps its parent from ending: it is alive, or cannot be read and may be alive. */
export function mayHaveLivingChild(store: Store, parentId: string): boolean {
  return livingChildren(store, parentId).length > 0 || damagedChild(store, parentId) !== undefined
}

/** Throws HAS_CHILDREN if the agent has a living child, CORRUPT if a child cannot be read and may be alive. */
export function checkChildless(store: Store, parent: State, verb: string): void {
  const damaged = damagedChild(store, parent.id)
  if (damaged !== undefined) throw damaged
  const children = livingChildren(store, parent.id)
  if (children.length === 0) return
  const names = children.map(({ path }) => path).slice(0, 5)
  throw new SubstratError(
    'HAS_CHILDREN',
    `${parent.path} has ${children.length} living ${children.length === 1 ? 'child' : 'children'}: ${names.join(', ')}`,
    {
      hint: `${verb} the children first, or all together: substrat ${verb} ${parent.id} --recursive`,
      facts: { agent_id: parent.id, children: children.map(({ id }) => id) },
    },
  )
}

/**
 * The error of a child that cannot be read. Without a complete index, the first record or snapshot names its parent.
 */
export function damagedChild(store: Store, parentId: string): SubstratError | undefined {
  const known = store.names(parentId).ids()
  const ids = known ?? store.agentIds().filter((id) => firstParent(store, id) === parentId)
  return ids.map((id) => whyUnreadable(store, id)).find((error) => error !== undefined)
}

function whyUnreadable(store: Store, id: string): SubstratError | undefined {
  try {
    if (!store.hasAgent(id) || openForRead(store, id) !== undefined || !store.hasAgent(id)) return undefined
  } catch (error) {
    if (error instanceof SubstratError) return error
    throw error
  }
  const path = store.label({ kind: 'log', agentId: id })
  return new SubstratError('CORRUPT', `${path} is missing`, {
    hint: 'restore it from a backup',
    facts: { path },
  })
}

/**
 * Restores the entry of every living child after the index was deleted. The parent of an agent that cannot be read is
 * unknown, so then the index stays incomplete: a name that is missing from it is searched in all agents.
 */
function rebuild(index: Names, ids: string[], store: Store, isChild: (agent: State) => boolean): void {
  let isWhole = true
  for (const id of ids) {
    const agent = readableState(store, id)
    isWhole &&= agent !== undefined
    if (agent !== undefined && isChild(agent) && agent.state !== 'terminated')
      index.reserve(agent.name ?? agent.id, id)
  }
  if (isWhole) index.markComplete()
}
