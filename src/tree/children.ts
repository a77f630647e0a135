/**
 * Who is below whom. A parent's `children/` has an entry for each child, by name or, where it has none, by id: that is an
 * index, the truth is the parent that each agent's own log names.
 *
 * Invariants: a living agent's parent lives. A living child has an entry, unless the index is not complete, or damaged.
 */
import { SubstratError } from '../errors.js'
import { openForRead } from '../session/load.js'
import { readableState } from '../session/peek-state.js'
import type { State } from '../session/state.js'
import type { FileStore, Lease, NameIndex } from '../storage/store.js'
import { firstParent } from './forest.js'

/** The living children that can be read, oldest first. */
export function livingChildren(store: FileStore, parentId: string): State[] {
  return childrenOf(store, parentId).filter(({ state }) => state !== 'terminated')
}

/** Also the terminated ones that no other of their name has followed. */
export function childrenOf(store: FileStore, parentId: string): State[] {
  const ids = store.childNames(parentId).ids() ?? store.agentIds()
  return ids
    .map((id) => (store.hasAgent(id) ? readableState(store, id) : undefined))
    .filter((agent): agent is State => agent?.parent === parentId)
    .sort((a, b) => (a.created_at < b.created_at ? -1 : 1))
}

/** The agent, and below it everything that lives, the lowest first. A cycle that was forged on disk is gone round once. */
export function livingBelow(store: FileStore, agent: State): State[] {
  const seen = new Set<string>([agent.id])
  const visit = (parent: State): State[] => [
    ...livingChildren(store, parent.id)
      .filter(({ id }) => !seen.has(id) && seen.add(id))
      .flatMap(visit),
    parent,
  ]
  return visit(agent)
}

/** The index of a parent's children, locked and complete: until release no agent is spawned below it, and it does not end. */
export async function lockChildren(
  store: FileStore,
  parentId: string,
  command: string,
): Promise<{ index: NameIndex; lock: Lease }> {
  const index = store.childNames(parentId)
  const lock = await index.lock(command)
  try {
    if (!index.isComplete) rebuild(index, store.agentIds(), store, (agent) => agent.parent === parentId)
    return { index, lock }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** The same for the roots, of which only those with a name are in the index. */
export async function lockRoots(
  store: FileStore,
  command: string,
): Promise<{ index: NameIndex; lock: Lease }> {
  const index = store.rootNames()
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
 * Gives every living child, or root, its entry again and takes away the entries that lead nowhere, also in an index that says
 * it is complete. `candidates` may be out of date, but for those spawned since: they have their entries.
 */
export async function mendIndex(
  store: FileStore,
  parentId: string | null,
  candidates: string[],
  isEveryAgentRead: boolean,
  command: string,
): Promise<void> {
  const index = parentId === null ? store.rootNames() : store.childNames(parentId)
  const lock = await index.lock(command)
  try {
    for (const { path, agentId } of index.entries())
      if (agentId === undefined || !store.hasAgent(agentId)) index.discard(path)
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

/** Of one that is gone: its entry leads nowhere, and would be counted as a child. */
export async function forgetName(
  store: FileStore,
  { id, name, parent }: Pick<State, 'id' | 'name' | 'parent'>,
  command: string,
): Promise<void> {
  if (parent === null ? name === null : !store.hasAgent(parent)) return
  const index = parent === null ? store.rootNames() : store.childNames(parent)
  let lock: Lease
  try {
    lock = await index.lock(command)
  } catch (error) {
    // Its parent was taken away meanwhile, and the index with it.
    if (parent !== null && !store.hasAgent(parent)) return
    throw error
  }
  try {
    // Another of that name may have followed.
    if (index.lookUp(name ?? id) === id) index.forget(name ?? id)
  } finally {
    await lock.release()
  }
}

/** Whether its parent may not end for it: also where nobody can read whether it lives. */
export function mayHaveLivingChild(store: FileStore, parentId: string): boolean {
  return livingChildren(store, parentId).length > 0 || damagedChild(store, parentId) !== undefined
}

/** Before a parent may end. Throws HAS_CHILDREN; CORRUPT where nobody can read whether a child of it lives. */
export function checkChildless(store: FileStore, parent: State, verb: string): void {
  const damaged = damagedChild(store, parent.id)
  if (damaged !== undefined) throw damaged
  const children = livingChildren(store, parent.id)
  if (children.length === 0) return
  const names = children.map(({ path }) => path).slice(0, 5)
  throw new SubstratError(
    'HAS_CHILDREN',
    `${parent.path} has ${children.length} living ${children.length === 1 ? 'child' : 'children'}: ${names.join(', ')}`,
    {
      hint: `${verb} them first, or all together: substrat ${verb} ${parent.id} --recursive`,
      facts: { agent_id: parent.id, children: children.map(({ id }) => id) },
    },
  )
}

/** What is wrong with a child that cannot be read. Without its index only the beginning of its log says whose child it is. */
function damagedChild(store: FileStore, parentId: string): SubstratError | undefined {
  const known = store.childNames(parentId).ids()
  const ids = known ?? store.agentIds().filter((id) => firstParent(store, id) === parentId)
  return ids.map((id) => whyUnreadable(store, id)).find((error) => error !== undefined)
}

function whyUnreadable(store: FileStore, id: string): SubstratError | undefined {
  try {
    if (!store.hasAgent(id) || openForRead(store, id) !== undefined || !store.hasAgent(id)) return undefined
  } catch (error) {
    if (error instanceof SubstratError) return error
    throw error
  }
  const path = store.logPath(id)
  return new SubstratError('CORRUPT', `${path} is missing`, {
    hint: 'restore it from a backup',
    facts: { path },
  })
}

/**
 * Gives every living child its entry again, after the index was deleted. While an agent cannot be read nobody knows whose
 * child it is, so the index stays incomplete: misses are then looked for, not trusted.
 */
function rebuild(
  index: NameIndex,
  ids: string[],
  store: FileStore,
  isChild: (agent: State) => boolean,
): void {
  let isWhole = true
  for (const id of ids) {
    const agent = readableState(store, id)
    isWhole &&= agent !== undefined
    if (agent !== undefined && isChild(agent) && agent.state !== 'terminated')
      index.reserve(agent.name ?? agent.id, id)
  }
  if (isWhole) index.markComplete()
}
