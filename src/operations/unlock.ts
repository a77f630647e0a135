/**
 * `unlock`: on a file system that is not local, the directory of a lock outlives a holder that was killed, and nobody else may
 * judge whether that one is dead or slow. A person may. A lock of the kernel needs none of this: it dies with its process.
 */

import { refuseInTool } from '../dispatch/caller.js'
import { SubstratError, shellWord } from '../errors.js'
import { FileStore } from '../storage/store.js'

export interface UnlockResult {
  /** The directories that were taken away. */
  unlocked: string[]
}

export interface UnlockOptions {
  caller: string | null
  /** Null for every lock of the home. */
  agentId: string | null
  /** Also where the holder seems to live, elsewhere. */
  isForced: boolean
}

/** Throws LOCKED where somebody is behind one of them, and then takes none away. */
export function unlock(store: FileStore, { caller, agentId, isForced }: UnlockOptions): UnlockResult {
  refuseInTool(caller, 'break a lock')
  const directories = lockDirectories(store, agentId)
  for (const directory of directories) {
    const life = store.upkeep.lifeOf(directory)
    if (life === 'here' || (life === 'elsewhere' && !isForced)) throw stillHeld(store, directory, life)
  }
  if (directories.length === 0 && agentId !== null && store.isAgentHeld(agentId))
    throw ofTheKernel(store, agentId)
  for (const directory of directories) store.upkeep.breakLock(directory)
  return { unlocked: directories }
}

function lockDirectories(store: FileStore, agentId: string | null): string[] {
  const found: string[] = []
  for (const entry of FileStore.survey(store.root))
    if ('facts' in entry && entry.standing === 'lock' && (agentId === null || entry.agentId === agentId))
      found.push(entry.path)
  return found
}

function stillHeld(store: FileStore, directory: string, life: 'here' | 'elsewhere'): SubstratError {
  const holder = store.upkeep.holderOf(directory)
  const who = holder === undefined ? 'somebody' : `pid ${holder.pid} on ${holder.host} (${holder.command})`
  const hint =
    life === 'here'
      ? 'it is alive on this machine: wait for it, or end it'
      : 'wait for it; if you know that it is dead: the same command with --force'
  return new SubstratError('LOCKED', `${directory} was touched just now: held by ${who}`, {
    hint,
    facts: { path: directory, ...(holder === undefined ? {} : { pid: holder.pid, host: holder.host }) },
  })
}

function ofTheKernel(store: FileStore, agentId: string): SubstratError {
  const holder = store.agentHolder(agentId)
  const who =
    holder === undefined ? 'another process' : `pid ${holder.pid} on ${holder.host} (${holder.command})`
  return new SubstratError(
    'LOCKED',
    `agent ${agentId} is held by ${who}, which lives: its lock ends with it`,
    {
      hint: `wait for it, or stop its turn: substrat suspend ${shellWord(agentId)}`,
      facts: { agent_id: agentId },
    },
  )
}
