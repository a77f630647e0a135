/**
 * `unlock`: removes lock directories that outlived their holder. They exist only on file systems that are not local,
 * where substrat cannot tell whether a holder is dead or slow, so a person decides. Kernel locks end with their
 * process.
 */

import { refuseInTool } from '../dispatch/caller.js'
import { SubstratError, shellWord } from '../errors.js'
import type { UnlockResult } from '../schema/output-home.js'
import { readableState } from '../session/peek-state.js'
import type { Store } from '../storage/store.js'

export interface UnlockOptions {
  caller: string | null
  /** Null: every lock of the home. */
  agentId: string | null
  /** Break a lock even if its holder seems to be alive on another machine. */
  isForced: boolean
}

/** Throws LOCKED if a holder of one of the locks seems to be alive; then no lock is removed. */
export function unlock(store: Store, { caller, agentId, isForced }: UnlockOptions): UnlockResult {
  refuseInTool(caller, 'break a lock')
  const directories = lockDirectories(store, agentId)
  for (const directory of directories) {
    const life = store.upkeep.lifeOf(directory)
    if (life === 'here' || (life === 'elsewhere' && !isForced)) throw stillHeld(store, directory, life)
  }
  if (directories.length === 0 && agentId !== null && store.isHeld(agentId)) throw ofTheKernel(store, agentId)
  for (const directory of directories) store.upkeep.breakLock(directory)
  return { unlocked: directories }
}

function lockDirectories(store: Store, agentId: string | null): string[] {
  const found: string[] = []
  for (const entry of store.upkeep.survey())
    if ('facts' in entry && entry.standing === 'lock' && (agentId === null || entry.agentId === agentId))
      found.push(entry.path)
  return found
}

function stillHeld(store: Store, directory: string, life: 'here' | 'elsewhere'): SubstratError {
  const holder = store.upkeep.holderOf(directory)
  const who =
    holder === undefined ? 'an unknown process' : `${holder.command}, pid ${holder.pid} on ${holder.host}`
  const hint =
    life === 'here'
      ? 'that process runs on this machine: wait for it, or end it'
      : 'wait for it; if you know that it is dead, repeat the command with --force'
  return new SubstratError('LOCKED', `${directory} is still in use by ${who}`, {
    hint,
    facts: { path: directory, ...(holder === undefined ? {} : { pid: holder.pid, host: holder.host }) },
  })
}

function ofTheKernel(store: Store, agentId: string): SubstratError {
  const holder = store.holder(agentId)
  const who =
    holder === undefined ? 'another process' : `${holder.command}, pid ${holder.pid} on ${holder.host}`
  const agent = readableState(store, agentId)?.path ?? agentId
  return new SubstratError('LOCKED', `the lock of ${agent} is not stale: it is held by ${who}`, {
    hint: `wait for that process, or stop its turn: substrat suspend ${shellWord(agent)}`,
    facts: { agent_id: agentId },
  })
}
