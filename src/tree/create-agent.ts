/**
 * Creates an agent: reserves its name, and renames its directory into place with the first prompt already in its log.
 */
import { SubstratError, shellWord } from '../errors.js'
import { foldName } from '../format.js'
import type { WorkspaceScope } from '../schema/words.js'
import { type EncodedBatch, encodeBatch } from '../session/batch.js'
import { openForRead } from '../session/load.js'
import type { NewRecord } from '../session/records.js'
import { openHeld, type Session } from '../session/session.js'
import { snapshotOf } from '../session/snapshot.js'
import type { State } from '../session/state.js'
import { howEnded } from '../session/status.js'
import { placeHere } from '../session/workspace-host.js'
import type { Names, Store } from '../storage/store.js'
import { childrenOf, lockChildren, lockRoots } from './children.js'
import { livingChild, livingRoot } from './names.js'

export interface TreeBounds {
  /** Levels of the tree, including the root. */
  depthMax: number
  /** Living children of one agent. */
  childrenMax: number
  /** Which hosts of a shared home run turns of a new root. A child has the scope of its parent. */
  workspaceScope: WorkspaceScope
  /** How much of the earlier conversation a turn of a new agent begins with, if its provider lets substrat choose. */
  context: string
}

interface AgentPlace {
  id: string
  name: string | null
  /** The parent's id; null for a root. */
  parent: string | null
  command: string
  /** It is closed by a move, as its parent may be. */
  isClosed?: boolean
  /** Default: that of the parent, or of the settings. */
  workspaceScope?: WorkspaceScope | undefined
}

interface Place {
  path: string
}

/** The first records, given the agent's path: `session.created` and, with a prompt, the first run. Or a whole log. */
type FirstRecords = { records(place: Place): NewRecord[] } | { encode(place: Place): EncodedBatch }

export type NewAgent = AgentPlace & FirstRecords

/**
 * Returns the session with its lock held. The name is stored first, then the agent with its marker. So after a crash, a
 * name leads to its agent or to nothing, and an agent with a first turn is found. The parent cannot end meanwhile.
 */
export async function createAgent(store: Store, agent: NewAgent, bounds: TreeBounds): Promise<Session> {
  const { id, name, parent, command, isClosed = false } = agent
  const scope = agent.workspaceScope ?? bounds.workspaceScope
  if (parent === null && name === null) return createOnDisk(store, agent, { path: id, scope })
  if (parent !== null && name !== null && foldName(name) === 'parent') throw meansParent(name)
  const { index, lock } =
    parent === null ? await lockRoots(store, command) : await lockChildren(store, parent, command)
  try {
    const above = parent === null ? undefined : checkParent(store, parent, index, bounds, isClosed)
    const owner =
      name === null ? undefined : parent === null ? livingRoot(store, name) : livingChild(store, parent, name)
    if (owner !== undefined && name !== null) throw nameTaken(name, owner, above)
    index.reserve(name ?? id, id)
    const path = above === undefined ? (name ?? id) : `${above.path}/${name ?? id}`
    const inherited = agent.workspaceScope ?? above?.workspace_host?.scope ?? scope
    return await createOnDisk(store, agent, { path, scope: inherited }, () => lock.assertHeld())
  } finally {
    await lock.release()
  }
}

async function createOnDisk(
  store: Store,
  agent: NewAgent,
  { path, scope }: Place & { scope: WorkspaceScope },
  assertNameHeld: () => void = () => undefined,
): Promise<Session> {
  const { bytes, blobs, state } =
    'encode' in agent
      ? agent.encode({ path })
      : encodeBatch(undefined, placed(store, agent.records({ path }), scope))
  // A child looks for caps above it only in a home that has accounts.
  if (state.budget?.caps !== undefined) store.accounts?.open(agent.id)
  const files = {
    agentId: agent.id,
    log: bytes,
    snapshot: snapshotOf(state),
    blobs,
    command: agent.command,
    assertNameHeld,
  }
  return openHeld(store, await store.create(files))
}

/** In a shared home, the agent belongs to this host. */
function placed(store: Store, records: NewRecord[], scope: WorkspaceScope): NewRecord[] {
  if (!store.isShared) return records
  const place = { ...placeHere(store), ...(scope === 'host' ? {} : { workspace_scope: scope }) }
  return records.map((record) => (record.kind === 'session.created' ? { ...record, ...place } : record))
}

/** Call with the children lock held, so that the parent cannot end. */
function checkParent(
  store: Store,
  parentId: string,
  index: Names,
  bounds: TreeBounds,
  mayBeClosed: boolean,
): State {
  const parent = parentState(store, parentId, mayBeClosed)
  if (parent === undefined || parent.state === 'terminated' || parent.isDone) {
    throw new SubstratError(
      'SESSION_STATE',
      `${parent?.path ?? parentId} ${howEnded(parent)} and cannot have new children`,
      {
        hint: 'list the living agents: substrat tree',
        facts: { agent_id: parentId },
      },
    )
  }
  if (parent.path.split('/').length >= bounds.depthMax)
    throw fullTreeError(parent, `the tree may not be deeper than ${bounds.depthMax} levels`, 'depth_max')
  if (index.count() >= bounds.childrenMax && forgetDead(store, parent, index) >= bounds.childrenMax)
    throw fullTreeError(parent, `it already has ${bounds.childrenMax} living children`, 'children_max')
  return parent
}

/** With `mayBeClosed`, the state before the move that has closed it. */
function parentState(store: Store, parentId: string, mayBeClosed: boolean): State | undefined {
  const state = openForRead(store, parentId)?.state
  return mayBeClosed && state?.moved !== undefined ? { ...state, state: state.moved.state } : state
}

/**
 * Returns the number of living children. Entries of dead ones remain while there is room, so that names still find
 * them.
 */
function forgetDead(store: Store, parent: State, index: Names): number {
  const children = childrenOf(store, parent.id)
  const dead = children.filter(({ state }) => state === 'terminated')
  for (const { name, id } of dead) index.forget(name ?? id)
  return children.length - dead.length
}

function fullTreeError(parent: State, why: string, setting: string): SubstratError {
  return new SubstratError('TREE_FULL', `cannot create a child of ${parent.path}: ${why}`, {
    hint: `allow more: substrat config set ${setting} NUMBER; or terminate an agent that is done: substrat terminate AGENT`,
    facts: { agent_id: parent.id, setting },
  })
}

/** A message that its parent or siblings address to `parent` would go to their own parent instead. */
function meansParent(name: string): SubstratError {
  return new SubstratError('USAGE', `${JSON.stringify(name)} cannot be the name of a child`, {
    hint: 'each agent calls its own parent by this name; choose another',
    facts: { name },
  })
}

function nameTaken(name: string, owner: string, parent: State | undefined): SubstratError {
  const path = shellWord(parent === undefined ? name : `${parent.path}/${name}`)
  const place = parent === undefined ? '' : ` --parent ${shellWord(parent.path)}`
  return new SubstratError('NAME_TAKEN', `the name ${JSON.stringify(name)} is taken by agent ${owner}`, {
    hint: `send to it: substrat send ${path} '…'; use it as it is: substrat spawn --name ${shellWord(name)}${place} --if-exists use; or choose another name`,
    facts: { name, agent_id: owner },
  })
}
