/**
 * `export --move --to ssh://…`: moves agents to the home of another machine, with one owner at the end.
 *
 * First the other home stores the agents, closed (`import --hold`). Then this home closes them. Then the other home opens them, while
 * this home holds the highest one: it is the one that `import --reclaim` would open first.
 * After a kill on either side, the same command ends the move: before the record here, with another bundle, which replaces the
 * agents stored there; after it, with the same bundle, which it makes again.
 */
import type { Context } from '../../dispatch/context.js'
import { readState } from '../../dispatch/read-state.js'
import { RUN_AGAIN, SessionStateError, SubstratError, shellWord } from '../../errors.js'
import { parseSshUrl, runOver, type SshPlace } from '../../host/ssh.js'
import { busyError } from '../../session/busy.js'
import { type Moved, moveAgents } from './move-agents.js'

export interface RemoteMove {
  agentId: string
  isTree: boolean
  /** `ssh://…`. */
  to: string
  /** Words for the shell there that run substrat. */
  remoteCommand: string
  /** Null: the names and directories stay. */
  name: string | null
  workspace: string | null
}

export async function moveOverSsh(ctx: Context, move: RemoteMove): Promise<Moved> {
  const place = parseSshUrl(move.to)
  const { agentId, isTree, to } = move
  const deliver = (bundle: Buffer): Promise<void> =>
    importThere(place, move, ['--hold', '--if-exists', 'use'], bundle)
  const moved = await moveAgents(ctx, { agentId, isTree, to, deliver })
  await whileClosed(ctx, agentId, moved.moveId, () =>
    importThere(place, move, ['--if-exists', 'use'], moved.bundle),
  )
  return moved
}

/** Holds the agent here, so that no `import --reclaim` opens it while the other home does. */
async function whileClosed(
  { store, command, bounds }: Context,
  agentId: string,
  moveId: string,
  act: () => Promise<void>,
): Promise<void> {
  const held = await store.hold(agentId, { command, waitMs: bounds.waitMs })
  if (held === undefined) throw busyError(store, agentId)
  try {
    const state = readState(store, agentId)
    if (state.moved?.move_id !== moveId)
      throw new SessionStateError(`${state.path} was taken back while it moved, and stays in this home`, {
        hint: `move it again: substrat export --move --to URL ${shellWord(state.path)}`,
        facts: { agent_id: agentId },
      })
    await act()
  } finally {
    await held.release()
  }
}

async function importThere(
  place: SshPlace,
  { to, name, workspace, remoteCommand, agentId }: RemoteMove,
  flags: string[],
  bundle: Buffer,
): Promise<void> {
  const words = [
    'import',
    '-',
    // The user of this home can run programs there anyway.
    '--trust',
    ...flags,
    ...(name === null ? [] : ['--name', name]),
    ...(workspace === null ? [] : ['--workspace', workspace]),
  ]
  const home = place.home === null ? '' : `SUBSTRAT_HOME=${shellWord(place.home)} `
  const status = await runOver(place, `${home}${remoteCommand} ${words.map(shellWord).join(' ')}`, bundle)
  if (status === 0) return
  const what = flags.includes('--hold')
    ? 'did not store the agents'
    : 'did not open the agents, which are closed here'
  throw new SubstratError('PROVIDER_FAILED', `${to} ${what} (exit ${status ?? 'by a signal'})`, {
    hint: `${RUN_AGAIN}; 127 means that the other machine has no substrat: --remote-command`,
    facts: { agent_id: agentId, status },
  })
}
