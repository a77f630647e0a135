/**
 * The messages that one sender queued before a message that it now sends directly. They run first, so that the recipient gets the
 * messages of a sender in order.
 *
 * On disk after a crash: the earlier messages, each pending or with its turn. The new message is not stored before its own turn,
 * except with `--if-busy queue`: then it is stored first, unless it replaces a parked turn.
 */
import { clock } from '../../clock.js'
import { type ContinueResult, takeMail } from '../../dispatch/advance.js'
import type { Context } from '../../dispatch/context.js'
import { wasStopped } from '../../dispatch/outcome.js'
import type { Visit } from '../../dispatch/own-visit.js'
import { TurnBudget } from '../../dispatch/turn-budget.js'
import { OPERATOR } from '../../format.js'
import type { Due } from '../../mail/due.js'
import { dueMailFrom, unknownMailOf } from '../../mail/inbox.js'
import { unknownMailError } from '../../mail/unknown-mail.js'
import { digestOf } from '../../session/ids.js'
import type { Session } from '../../session/session.js'
import type { MessageRequest } from './request.js'

/** The ids of the due messages of the operator that come before the request. */
export function earlierMail(session: Session, request: MessageRequest): ReadonlySet<string> {
  const earlier = new Set<string>()
  if (request.isFirst) return earlier
  const now = new Date(clock.now()).toISOString()
  for (const mail of dueMailFrom(session, OPERATOR)) {
    if (isSame(mail, request) || isLater(mail, session, now)) break
    earlier.add(mail.message_id)
  }
  return earlier
}

/** The request itself was queued before, by the same key. */
function isSame({ key, digest }: Due, request: MessageRequest): boolean {
  return key !== null && key === request.key && digest === digestOf(request.content)
}

/**
 * Whether the message was queued while this command waited for the agent. A message from the future was queued before the clock
 * was set back.
 */
function isLater({ created_at }: Due, { arrivedAt }: Session, now: string): boolean {
  return arrivedAt !== undefined && arrivedAt < created_at && created_at <= now
}

/**
 * `ran`: all of them had their turn. `yields`: another command waits for the agent since before one of them, and comes first.
 * `left`: some cannot run now, and the state says why.
 */
export type EarlierResult = 'ran' | 'yields' | 'left'

/** `replaces`: the first of them replaces the turn that is parked. */
export async function runEarlierMail(
  ctx: Context,
  session: Session,
  ids: ReadonlySet<string>,
  replaces: boolean,
): Promise<EarlierResult> {
  const newer = unknownMailError(unknownMailOf(session))
  if (newer !== undefined) throw newer
  ctx.reporter.note(textOf(ids.size))
  const end = ctx.reporter.mute(session.id)
  try {
    for (let turn: 'mail' | 'message' = replaces ? 'message' : 'mail'; ; turn = 'mail') {
      const turns = await takeMail(ctx, session, new TurnBudget(1), { ids, turn })
      if (session.yields) return 'yields'
      // A cancelled turn ends only itself, because the command has a message of its own.
      if (turns > 0 && ['open', 'interrupted'].includes(session.state.run?.status ?? '')) return 'left'
      if (!isAnyPending(session, ids)) return 'ran'
      if (turns === 0) return 'left'
    }
  } finally {
    end()
  }
}

/**
 * Runs turns for what is stored, unless a command stopped the turn that this visit continued. The visit ends with another look at the
 * inbox, which finds the message of this command.
 */
export async function runStored({ ctx, session }: Visit, continued?: ContinueResult): Promise<'done'> {
  const wasEnded = continued?.outcome === 'ran' && wasStopped(continued.run)
  if (!wasEnded) await takeMail(ctx, session, ctx.deliveries.budget)
  return 'done'
}

function isAnyPending(session: Session, ids: ReadonlySet<string>): boolean {
  return dueMailFrom(session, OPERATOR).some(({ message_id }) => ids.has(message_id))
}

function textOf(count: number): string {
  const what = count === 1 ? '1 earlier message runs' : `${count} earlier messages run`
  return `${what} first (to overtake: --first)`
}
