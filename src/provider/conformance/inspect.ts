/** Conformance cases: `inspect` of a turn whose substrat process died. */

import type { AgentEvent, AgentProvider, Inspection, ProviderSettings } from '../contract.js'
import { type ConformanceCase, type ConformanceFixture, caseOf, demand, moment, neverSignal } from './case.js'
import { checkedTurn } from './events.js'
import { withHost } from './host.js'

type Inspected = NonNullable<ConformanceFixture['inspects']>

export function doneIsFinished(
  provider: AgentProvider,
  { settings, prompt }: ConformanceFixture,
): ConformanceCase {
  return caseOf('inspect of a done turn returns finished with the reply, or unknown', async () => {
    const turn = await playTurn(provider, settings, prompt)
    const { outcome } = await inspectTurn(provider, settings, turn, { finished: turn.finished, answered: 0 })
    demand(outcome !== 'unfinished', 'a done turn must not be unfinished')
  })
}

/** Stops the slow turn before its end. */
export function stoppedIsUnfinished(
  provider: AgentProvider,
  { settings, prompt }: NonNullable<ConformanceFixture['slow']>,
): ConformanceCase {
  return caseOf('inspect of a stopped turn never returns finished', async () => {
    const controller = new AbortController()
    const turn: Played = { state: null, finished: [], failed: [], reply: '' }
    await withHost(null, async (host) => {
      const session = await provider.create(settings, host)
      const ended = take(turn, session.send(prompt, { signal: controller.signal, allow: [] })).catch(
        () => undefined,
      )
      await moment(ended)
      controller.abort()
      await ended
      await session.stop()
    })
    const { outcome } = await inspectTurn(provider, settings, turn, { finished: turn.finished, answered: 0 })
    demand(outcome !== 'finished', 'a stopped turn must not be finished')
  })
}

export function inspectCases(
  provider: AgentProvider,
  { settings, fails, calls }: Inspected,
): ConformanceCase[] {
  const cases: ConformanceCase[] = []
  if (fails !== undefined)
    cases.push(
      caseOf('a turn with a failed tool is finished only if substrat has recorded the failure', async () => {
        const turn = await playTurn(provider, settings, fails)
        demand(turn.failed.length > 0, 'the turn of the fixture must have a failed tool')
        const { finished, failed } = turn
        const whole = await inspectTurn(provider, settings, turn, { finished, answered: 0 })
        demand(whole.outcome === 'finished', 'a recorded failure must not make the turn unfinished')
        const heard = finished.filter((id) => !failed.includes(id))
        const { outcome } = await inspectTurn(provider, settings, turn, { finished: heard, answered: 0 })
        demand(outcome === 'unfinished', 'an unrecorded failure must make the turn unfinished')
      }),
    )
  if (calls !== undefined)
    cases.push(
      caseOf(
        "a turn that calls substrat's tools is finished only if substrat has answered the calls",
        async () => {
          const turn = await playTurn(provider, settings, calls.prompt)
          const { finished } = turn
          const whole = await inspectTurn(provider, settings, turn, { finished, answered: calls.count })
          demand(whole.outcome === 'finished', 'answered calls must not make the turn unfinished')
          const less = { finished, answered: calls.count - 1 }
          const { outcome } = await inspectTurn(provider, settings, turn, less)
          demand(outcome === 'unfinished', 'an unanswered call must make the turn unfinished')
        },
      ),
    )
  return cases
}

/** The data about a turn that substrat's log would have if substrat died now. */
interface Played {
  state: Uint8Array | null
  /** The ids of finished calls of the program's own tools, and of those that failed. */
  finished: string[]
  failed: string[]
  reply: string
}

/** Runs a turn to its end without `suspend`, so that the latest state is that of the turn. */
async function playTurn(
  provider: AgentProvider,
  settings: ProviderSettings,
  prompt: string,
): Promise<Played> {
  const turn: Played = { state: null, finished: [], failed: [], reply: '' }
  await withHost(null, async (host) => {
    const session = await provider.create(settings, host)
    const { events, end } = await checkedTurn(
      session,
      session.send(prompt, { signal: neverSignal(), allow: ['all'] }),
    )
    demand(end.type === 'done', 'a prompt that needs no user must end in done')
    for (const event of events) note(turn, event)
    await session.stop()
  })
  return turn
}

async function take(turn: Played, stream: AsyncIterable<AgentEvent>): Promise<void> {
  for await (const event of stream) note(turn, event)
}

function note(turn: Played, event: AgentEvent): void {
  if (event.type === 'state') turn.state = event.state
  if (event.type === 'done') turn.reply = event.reply
  if (event.type !== 'tool_finished') return
  turn.finished.push(event.call_id)
  if (event.is_error) turn.failed.push(event.call_id)
}

async function inspectTurn(
  provider: AgentProvider,
  settings: ProviderSettings,
  { state, reply }: Played,
  heard: { finished: string[]; answered: number },
): Promise<Inspection> {
  const options = { signal: neverSignal(), heard: { ...heard, server: 'substrat' } }
  const inspection = await provider.inspect(state, settings, options)
  demand(['finished', 'unfinished', 'unknown'].includes(inspection.outcome), JSON.stringify(inspection))
  demand(
    inspection.outcome !== 'finished' || inspection.reply === reply,
    `a finished turn must have its reply: ${JSON.stringify(inspection)}`,
  )
  return inspection
}
