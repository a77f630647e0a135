/**
 * `schedule run-now`: a turn with the message of a schedule, outside its calendar. It changes no slot.
 *
 * On disk after a crash: nothing, or the turn with its `schedule.ran_now`, which continues like any other.
 */
import { continueLatest, deliveredFields } from '../../dispatch/advance.js'
import { checkReach } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { NOT_AGAIN } from '../../dispatch/effect.js'
import { type OnOutcome, wordOf } from '../../dispatch/outcome.js'
import { visitAndFinish } from '../../dispatch/own-visit.js'
import { scheduleNamed } from '../../dispatch/schedule-view.js'
import { refuseElsewhere, turnObstacle } from '../../dispatch/turn-obstacle.js'
import { startTurn } from '../../dispatch/turns.js'
import { SessionStateError, SubstratError, shellWord } from '../../errors.js'
import { slotMail } from '../../mail/schedules.js'
import { nowIso } from '../../schedule/due.js'
import { messageOptions } from '../../schema/message.js'
import type { State } from '../../session/state.js'
import { randomUuid } from '../../start/random.js'
import type { Store } from '../../storage/store.js'

export async function runNow(
  ctx: Context,
  agentId: string,
  word: string,
  onOutcome: OnOutcome,
): Promise<void> {
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  await visitAndFinish(ctx, agentId, onOutcome, async (visit) => {
    const { session, settled } = visit
    const schedule = scheduleNamed(session.state, word)
    // An interrupted turn comes first, as before any message.
    await continueLatest(ctx, session, { auto: true, settled, isLast: () => false })
    refuseBlocked(ctx.store, session.state, schedule.name)
    const message_id = randomUuid()
    const { schedule_id, name } = schedule
    const slots = [{ kind: 'schedule.ran_now' as const, schedule_id, name, message_id }]
    const content = session.text(schedule.content)
    const mail = slotMail(session, schedule, { message_id, content, at: nowIso(), slots })
    const prompt = { origin: 'mail' as const, mails: [deliveredFields(mail)], slots }
    await visit.begin(
      (options) => startTurn(ctx, session, { prompt, ...messageOptions() }, options),
      NOT_AGAIN,
    )
  })
}

function refuseBlocked(store: Store, state: State, name: string): void {
  refuseElsewhere(store, state)
  const obstacle = turnObstacle(store, state, 'mail')
  if (obstacle === undefined && state.run?.status !== 'open') return
  const again = `substrat schedule run-now ${wordOf(state)} ${shellWord(name)}`
  const facts = { agent_id: state.id }
  if (obstacle?.kind === 'hold' || obstacle?.kind === 'gate')
    throw new SubstratError(
      obstacle.code,
      `${state.path} is ${obstacle.is} and will not run until you ${obstacle.until} it`,
      {
        hint: `${obstacle.until} it: ${obstacle.next}; then ${again}`,
        facts,
      },
    )
  if (obstacle?.kind === 'terminated')
    throw new SessionStateError(`${state.path} is terminated and takes no turns`, {
      hint: 'start another agent: substrat spawn',
      facts,
    })
  if (obstacle?.kind === 'wait')
    throw new SubstratError('WAITING', `an earlier turn of ${state.path} is waiting`, {
      hint: `end it first: ${obstacle.next}; then ${again}`,
      facts,
    })
  throw new SubstratError('INTERRUPTED', `an earlier turn of ${state.path} is not over`, {
    hint: `continue it: substrat resume ${wordOf(state)}; then ${again}`,
    facts,
  })
}
