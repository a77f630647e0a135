/** A new agent: its name reserved, its directory renamed into place, its first prompt already in its log. */
import { SubstratError, shellWord } from '../errors.js'
import { encodeBatch } from '../session/batch.js'
import type { NewRecord } from '../session/records.js'
import { Session } from '../session/session.js'
import { encodeSnapshot } from '../session/snapshot.js'
import type { FileStore } from '../storage/store.js'
import { livingRoot, rebuildRootNames } from './names.js'

export interface NewAgent {
  id: string
  name: string | null
  /** session.created, and with a prompt the first run. */
  records: NewRecord[]
  command: string
}

/**
 * The session, with its lock held. Order: the name, then the agent with its marker; so that whatever dies in between, a
 * name leads to its agent or to nothing, and an agent that is owed a turn is found.
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
  const lease =
    agent.name === null
      ? await store.createAgent(birth)
      : await createNamed(store, agent.name, agent, () => store.createAgent(birth))
  try {
    return Session.repair(store, agent.id, lease)
  } catch (error) {
    await lease.release()
    throw error
  }
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
