/**
 * Stops kept servers above the limit, the least recently used first, and every server that was idle for half an hour.
 * There is no daemon, so commands do this: each command after a turn, `deliver --all` and `recover --all`.
 *
 * Invariants: a server is stopped only under its agent's lock. No command waits for that lock, because a locked agent
 * uses its server. A `servers/` file without a server is also removed only under that lock.
 */

import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import {
  isServerAlive,
  isServerElsewhere,
  keptServerProcesses,
  stopKeptServer,
} from '../provider/kept-server.js'
import { send } from '../provider/process-group.js'
import { readableState } from '../session/peek-state.js'
import { openForAppend, type Session } from '../session/session.js'
import type { RecordedServer } from '../session/state.js'
import type { ServerUse } from '../storage/store.js'
import type { Context } from './context.js'
import { needsVisit } from './pending-visits.js'

/** How long to wait for another command that does the same. */
const LOCK_WAIT_MS = 2000

/** Ignores every SubstratError: the next command stops what this one could not. */
export async function limitKeptServers(ctx: Context, max = ctx.keptServers.max): Promise<void> {
  const { keptServers: servers } = ctx.store.local
  // A last use in the future means that the clock was set back. The age is then unknown, and a restart is cheap.
  const isIdle = ({ usedMs }: { usedMs: number }): boolean =>
    Math.abs(clock.now() - usedMs) > limits.serverIdleMs
  await unlessRefused(async () => {
    const before = servers.uses()
    if (before.length <= max && !before.some(isIdle)) return
    const lease = await servers.lock(ctx.command, LOCK_WAIT_MS)
    try {
      const uses = lease === undefined ? [] : servers.uses()
      const living: ServerUse[] = []
      for (const use of uses) if (await isCounted(ctx, use.agentId)) living.push(use)
      let count = living.length
      for (const use of living) {
        if (count <= max && !isIdle(use)) continue
        if (await stopServerOf(ctx, use.agentId)) count -= 1
      }
    } finally {
      await lease?.release()
    }
  })
}

/** `recover --all`: stops every server that is not in use, and kills the server processes of removed agents. */
export async function stopAllKeptServers(ctx: Context): Promise<void> {
  await limitKeptServers(ctx, 0)
  for (const { pid, agentId } of keptServerProcesses(ctx.store.address))
    if (isGone(ctx, agentId)) send(pid, 'SIGKILL')
}

function isGone({ store }: Context, agentId: string): boolean {
  return !store.hasAgent(agentId) || readableState(store, agentId)?.state === 'terminated'
}

async function isCounted(ctx: Context, agentId: string): Promise<boolean> {
  if (!ctx.store.hasAgent(agentId)) ctx.store.local.keptServers.forget(agentId)
  const known = readableState(ctx.store, agentId)
  if (isAliveHere(ctx, known?.warm)) return true
  if (known !== undefined && isServerElsewhere(ctx.store, known)) return false
  // A server may be about to start; then its agent is locked.
  await withFreeSession(ctx, agentId, async (session) => {
    const { warm } = session.state
    if (isAliveHere(ctx, warm)) return
    if (await stopKeptServer(session, (text) => ctx.reporter.note(text)))
      ctx.store.local.keptServers.forget(agentId)
  })
  return false
}

function isAliveHere({ store }: Context, warm: RecordedServer | undefined): boolean {
  return warm !== undefined && isServerAlive(store.address, warm)
}

/** False if the server is in use or survives. True also if it has ended meanwhile. */
async function stopServerOf(ctx: Context, agentId: string): Promise<boolean> {
  let isStopped = false
  await withFreeSession(ctx, agentId, async (session) => {
    isStopped = await stopKeptServer(session, (text) => ctx.reporter.note(text))
  })
  return isStopped
}

/** Does nothing if another process holds the agent, or if it cannot be opened. */
async function withFreeSession(
  ctx: Context,
  agentId: string,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  if (!ctx.store.hasAgent(agentId)) return
  await unlessRefused(async () => {
    const session = await openForAppend(ctx.store, agentId, { command: ctx.command, waitMs: 0 })
    try {
      await work(session)
    } finally {
      await session.close((state) => needsVisit(ctx.store, state))
    }
    // A sender that found the agent locked relies on this process to deliver its message.
    ctx.deliveries.lookAgain(agentId)
  })
}

async function unlessRefused(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
  }
}
