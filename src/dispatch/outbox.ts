/**
 * Sends the outbox of a session before its visit ends: the replies and errors of its ended runs (state field `owes`).
 * It also terminates an agent that is done, and answers the mail that a terminated agent can no longer receive.
 */
import { OPERATOR } from '../format.js'
import { returnMail, sendOutbox } from '../mail/answers.js'
import { stopKeptServer, terminateSession } from '../provider/kept-server.js'
import type { Session } from '../session/session.js'
import { lockChildren, mayHaveLivingChild } from '../tree/children.js'
import type { Context } from './context.js'

/** `isRepeat`: a process that died may have sent part of the outbox. */
export async function flushOutbox(ctx: Context, session: Session, isRepeat: boolean): Promise<void> {
  const note = (text: string): void => ctx.reporter.note(text)
  const sent = sendOutbox(session, { isRepeat, note })
  for (const { kind, to, run_id, message_id } of sent)
    if (kind === 'error' && to === OPERATOR) ctx.reporter.reported(run_id, message_id)
  const woken = sent.map(({ to }) => to)
  if (session.state.isDone && session.state.state !== 'terminated') await end(ctx, session)
  if (session.state.state === 'terminated') woken.push(...returnMail(ctx.store, session.state, note))
  for (const agentId of woken) ctx.deliveries.wake(agentId)
}

/** Terminates an agent that called `complete`, unless it has a living child, which would become an orphan. */
async function end(ctx: Context, session: Session): Promise<void> {
  await stopKeptServer(session, (text) => ctx.reporter.note(text))
  const { lock } = await lockChildren(ctx.store, session.id, ctx.command)
  try {
    if (!mayHaveLivingChild(ctx.store, session.id)) terminateSession(session, [], true)
    else
      ctx.reporter.note(`${session.state.path} is done, but is not terminated because it has living children`)
  } finally {
    await lock.release()
  }
}
