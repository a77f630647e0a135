/** A new agent: its name reserved, its directory renamed into place, its first prompt already in its log. */
import { SubstratError, shellWord } from '../errors.js'
import { encodeBatch } from '../session/batch.js'
import type { NewRecord } from '../session/records.js'
import { Session } from '../session/session.js'
import { encodeSnapshot } from '../session/snapshot.js'
import type { FileStore, Lease } from '../storage/store.js'
import { livingRoot, rebuildRootNames } from './names.js'

export interface NewAgent {
  id: string
  name: string | null
  /** session.created, and with a prompt the first run. */
  records: NewRecord[]
  command: string
}

/**
 * The session, with its lock held. Order: marker, name, directory; so that whatever dies in between, a name leads to its
 * agent or to nothing, and an agent that is owed a turn is found.
 */
export async function createRoot(store: FileStore, agent: NewAgent): Promise<Session> {
  const { bytes, blobs, state } = encodeBatch(undefined, agent.records)
  const birth = {
    agentId: agent.id,
    log: bytes,
    snapshot: encodeSnapshot(state),
    blobs,
    command: agent.command,
  }
  store.mark(agent.id)
  try {
    const lease =
      agent.name === null
        ? await store.createAgent(birth)
        : await createNamed(store, agent.name, agent, () => store.createAgent(birth))
    return await open(store, agent.id, lease)
  } catch (error) {
    if (!store.hasAgent(agent.id)) unmark(store, agent.id)
    throw error
  }
}

async function open(store: FileStore, agentId: string, lease: Lease): Promise<Session> {
  try {
    // A recovery that runs beside us may have taken the marker of an agent that was not there yet.
    store.mark(agentId)
    return Session.repair(store, agentId, lease)
  } catch (error) {
    await lease.release()
    throw error
  }
}

/** What went wrong says more than that the marker stays, which only costs a recovery a look. */
function unmark(store: FileStore, agentId: string): void {
  try {
    store.unmark(agentId, () => store.hasAgent(agentId))
  } catch {}
}

async function createNamed<T>(
  store: FileStore,
  name: string,
  agent: NewAgent,
  create: () => Promise<T>,
): Promise<T> {
  const index = store.rootNames()
  const lock = await index.lock(agent.command)
  try {
    if (!index.isComplete) rebuildRootNames(store)
    const owner = livingRoot(store, name)
    if (owner !== undefined) throw nameTaken(name, owner)
    index.reserve(name, agent.id)
    return await create()
  } finally {
    await lock.release()
  }
}

function nameTaken(name: string, owner: string): SubstratError {
  return new SubstratError('NAME_TAKEN', `the name ${JSON.stringify(name)} is taken by agent ${owner}`, {
    hint: `send to it: substrat send ${shellWord(name)} '…'; use it as it is: substrat spawn --name ${shellWord(name)} --if-exists use; or choose another name`,
    facts: { name, agent_id: owner },
  })
}
