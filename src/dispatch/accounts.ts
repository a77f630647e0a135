/**
 * What a session owes to others, settled before it rests: replies and errors of its ended runs, its own end where it is
 * done, and the mail that a terminated agent can no longer take.
 */
import { sendBack, sendOwed } from '../mail/answers.js'
import { forgetServer, stopServer } from '../provider/warm.js'
import type { Session } from '../session/session.js'
import { livingChildren, lockChildren } from '../tree/children.js'
import type { Context } from './context.js'

/** `isRepeat`: a process that is gone may have done a part of it. */
export async function settleAccounts(ctx: Context, session: Session, isRepeat: boolean): Promise<void> {
  const note = (text: string): void => ctx.reporter.note(text)
  const told = sendOwed(session, { isRepeat, note })
  if (session.state.isDone && session.state.state !== 'terminated') await end(ctx, session)
  if (session.state.state === 'terminated') told.push(...sendBack(ctx.store, session.state, note))
  for (const agentId of told) ctx.deliveries.wake(agentId)
}

/** An agent that said `complete`. A child that was born since keeps it alive: there are no orphans. */
async function end(ctx: Context, session: Session): Promise<void> {
  // One that runs on elsewhere is in nobody's way any more.
  if (!(await stopServer(session, (text) => ctx.reporter.note(text)))) forgetServer(session)
  const { lock } = await lockChildren(ctx.store, session.id, ctx.command)
  try {
    if (livingChildren(ctx.store, session.id).length === 0) session.append([{ kind: 'session.terminated' }])
    else ctx.reporter.note(`${session.state.path} is done, but lives on for the children that it has`)
  } finally {
    await lock.release()
  }
}
