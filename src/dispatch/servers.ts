/**
 * The servers of a home, kept within their number: above it the least recently used is stopped, and whatever was not used
 * for half an hour. There is no daemon, so this is done by the commands that come by: after each turn, by
 * `deliver --all` and by `recover --all`.
 *
 * Invariants: one is stopped only with its agent's lock, which is never waited for: a lock that is held means in use. A mark
 * without a server is taken away only with that lock too.
 */

import { clock } from '../clock.js'
import { SubstratError } from '../errors.js'
import { limits } from '../limits.js'
import { send } from '../provider/program.js'
import { isElsewhere, isLiving, serverProcesses, stopServer } from '../provider/warm.js'
import { openForRead } from '../session/open-for-read.js'
import { openForAppend, type Session } from '../session/session.js'
import type { WarmServer } from '../session/state.js'
import type { ServerMark } from '../storage/store.js'
import type { Context } from './context.js'
import { isOwed } from './owed.js'

/** How long another command, which does the same, is waited for. */
const LOCK_WAIT_MS = 2000

/** Never throws but for what is no failure of ours: what was not stopped now is stopped by the next. */
export async function boundServers(ctx: Context, max = ctx.warm.max): Promise<void> {
  const { servers } = ctx.store
  // Used in the future is used before the clock was set back: how long ago, nothing says, and it is cheap to start again.
  const isIdle = ({ usedMs }: { usedMs: number }): boolean =>
    Math.abs(clock.now() - usedMs) > limits.serverIdleMs
  await unlessRefused(async () => {
    const before = servers.marks()
    if (before.length <= max && !before.some(isIdle)) return
    const lease = await servers.lock(ctx.command, LOCK_WAIT_MS)
    try {
      const marks = lease === undefined ? [] : servers.marks()
      const living: ServerMark[] = []
      for (const mark of marks) if (await isCounted(ctx, mark.agentId)) living.push(mark)
      let count = living.length
      for (const mark of living) {
        if (count <= max && !isIdle(mark)) continue
        if (await stopServerOf(ctx, mark.agentId)) count -= 1
      }
    } finally {
      await lease?.release()
    }
  })
}

/** `recover --all`: none is left but those in use, and nothing of an agent that is gone. */
export async function stopAllServers(ctx: Context): Promise<void> {
  await boundServers(ctx, 0)
  for (const { pid, agentId } of serverProcesses(ctx.store.root))
    if (isGone(ctx, agentId)) send(pid, 'SIGKILL')
}

function isGone({ store }: Context, agentId: string): boolean {
  try {
    return !store.hasAgent(agentId) || openForRead(store, agentId)?.state.state === 'terminated'
  } catch {
    return false
  }
}

async function isCounted(ctx: Context, agentId: string): Promise<boolean> {
  if (!ctx.store.hasAgent(agentId)) ctx.store.servers.forget(agentId)
  const known = warmOf(ctx, agentId)
  if (isHere(ctx, known)) return true
  if (known !== undefined && isElsewhere(ctx.store, agentId, known)) return false
  // It may be about to be started: then its lock is held.
  await withFreeSession(ctx, agentId, async (session) => {
    const { warm } = session.state
    if (isHere(ctx, warm)) return
    if (await stopServer(session, (text) => ctx.reporter.note(text))) ctx.store.servers.forget(agentId)
  })
  return false
}

function isHere({ store }: Context, warm: WarmServer | undefined): boolean {
  return warm !== undefined && isLiving(store.root, warm)
}

function warmOf({ store }: Context, agentId: string): WarmServer | undefined {
  try {
    return openForRead(store, agentId)?.state.warm
  } catch {
    // Damaged: the next visit says so.
    return undefined
  }
}

/** False where it is in use, or runs on. One that has ended meanwhile, by itself or by its agent, is gone as well. */
async function stopServerOf(ctx: Context, agentId: string): Promise<boolean> {
  let isStopped = false
  await withFreeSession(ctx, agentId, async (session) => {
    isStopped = await stopServer(session, (text) => ctx.reporter.note(text))
  })
  return isStopped
}

/** Nothing where somebody holds it, or it cannot be opened. */
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
      await session.close((state) => isOwed(ctx.store, state))
    }
    // Who found it locked has left a message to us.
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
