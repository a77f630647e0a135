/** The schedules of an agent: the next slot, the outcome of the last ones, and what a person can do with them. */
import { MISSED, SKIPPED } from 'substrat/entries'
import { call } from '../api/client.js'
import type { ShownAgent } from '../api/types.js'
import { agoText, dateText } from '../model/time.js'
import { ActionButton } from '../parts/action.js'
import { Words } from '../parts/text.js'
import { useMay } from '../state/right.js'

type Schedule = NonNullable<ShownAgent['schedules']>[number]

export function Schedules({ shown, onChanged }: { shown: ShownAgent; onChanged: () => void }) {
  const { schedules = [], agent } = shown
  const mayControl = useMay('all')
  if (schedules.length === 0) return null
  return (
    <details class="fold grants">
      <summary>Schedules: {schedules.length}</summary>
      <ul>
        {schedules.map((schedule) => (
          <li key={schedule.schedule_id}>
            <span>
              <Words text={`${schedule.name} (${schedule.when}, ${schedule.time_zone})`} />
            </span>
            <span class="hint">{nextText(shown, schedule)}</span>
            {schedule.recent.slice(-3).map((slots) => (
              <span class="hint" key={slots.from}>
                {slotsText(slots)}
              </span>
            ))}
            {mayControl && agent.state !== 'terminated' && schedule.state !== 'ended' && (
              <Actions agentId={agent.id} schedule={schedule} onChanged={onChanged} />
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}

function Actions(props: { agentId: string; schedule: Schedule; onChanged: () => void }) {
  const { agentId: agent, schedule, onChanged } = props
  const { schedule_id, name } = schedule
  const isPaused = schedule.state === 'paused'
  const change = isPaused ? 'resume' : 'pause'
  return (
    <>
      <ActionButton
        label={`Run now: ${name}`}
        request={() => call('runSchedule', { agent, body: { schedule: schedule_id } }).then(onChanged)}
        done="The message runs now"
      >
        Run now
      </ActionButton>
      <ActionButton
        label={`${isPaused ? 'Resume' : 'Pause'} ${name}`}
        request={() =>
          call('changeSchedule', { agent, body: { schedule: schedule_id, change } }).then(onChanged)
        }
        done={isPaused ? 'Resumed' : 'Paused: its slots are skipped'}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </ActionButton>
    </>
  )
}

function nextText({ hold, gate }: ShownAgent, { state, due_at, next_at }: Schedule): string {
  if (state === 'ended') return 'No slot follows'
  if (state === 'paused') return 'Paused'
  if (hold) return 'Its slots are skipped while the agent is on hold'
  if (gate.gated && gate.permits === 0) return 'Its slots are skipped while the agent is gated'
  const at = due_at ?? next_at
  return at === null ? 'No slot follows' : `Next ${dateText(at)} (${agoText(at)})`
}

function slotsText({ from, to, count, outcome, why, status }: Schedule['recent'][number]): string {
  const times = count === 1 ? dateText(from) : `${count} slots from ${dateText(from)} to ${dateText(to)}`
  if (outcome === 'ran') return `${times}: ${status === 'open' ? 'began' : status}`
  const words: Record<string, string> = { ...SKIPPED, ...MISSED }
  return `${times}: ${outcome}, ${words[why ?? ''] ?? why}`
}
