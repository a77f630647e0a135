/** `schedule pause`, `resume` and `remove`. Repeating one changes nothing. */
import { checkReach } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { listedSchedule, scheduleNamed } from '../../dispatch/schedule-view.js'
import { visit } from '../../dispatch/visit.js'
import { SessionStateError } from '../../errors.js'
import type { ChangedSchedule } from '../../schema/output-schedule.js'
import type { State } from '../../session/state.js'
import { howEnded } from '../../session/status.js'

export type ScheduleChange = 'paused' | 'resumed' | 'removed'

export async function changeSchedule(
  ctx: Context,
  agentId: string,
  word: string,
  change: ScheduleChange,
): Promise<ChangedSchedule> {
  checkReach(ctx.store, ctx.caller, agentId, 'change')
  return visit(ctx, agentId, { waitMs: ctx.bounds.waitMs, continuesTurn: false }, async (session) => {
    refuseEnded(session.state)
    const { schedule_id, name, paused_at } = scheduleNamed(session.state, word)
    const changed = change === 'removed' || (change === 'paused') === (paused_at === null)
    const before = scheduleNamed(session.state, schedule_id)
    if (changed) session.append([{ kind: `schedule.${change}`, schedule_id, name }])
    const after = session.state.schedules?.find((each) => each.schedule_id === schedule_id) ?? before
    return { schedule: listedSchedule(ctx.store, session.state, after), changed, replaced: null }
  })
}

function refuseEnded(state: State): void {
  if (state.state !== 'terminated') return
  throw new SessionStateError(`${state.path} ${howEnded(state)}, and its schedules ended with it`, {
    hint: 'see the agents with schedules: substrat schedule list',
    facts: { agent_id: state.id },
  })
}
