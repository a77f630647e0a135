/** The cases of the conformance suite about what a provider says of a turn whose substrat died. */

import type { AgentEvent, AgentProvider, Inspection, ProviderSettings } from '../contract.js'
import { type ConformanceCase, type ConformanceFixture, caseOf, demand, moment, neverSignal } from './case.js'
import { checkedTurn } from './events.js'
import { withHost } from './host.js'

type Inspected = NonNullable<ConformanceFixture['inspects']>

export function doneIsFinished(
  provider: AgentProvider,
  { settings, prompt }: ConformanceFixture,
): ConformanceCase {
  return caseOf('inspect says finished, with the reply, or unknown of a turn that was done', async () => {
    const turn = await playTurn(provider, settings, prompt)
    const { outcome } = await inspectTurn(provider, settings, turn, { finished: turn.finished, answered: 0 })
    demand(outcome !== 'unfinished', 'a turn that was done is not unfinished')
  })
}

/** The slow turn is told to stop, and has not come to its end. */
export function stoppedIsUnfinished(
  provider: AgentProvider,
  { settings, prompt }: NonNullable<ConformanceFixture['slow']>,
): ConformanceCase {
  return caseOf('inspect never says finished of a turn that was stopped', async () => {
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
    demand(outcome !== 'finished', 'a turn that was stopped is not finished')
  })
}

export function inspectCases(
  provider: AgentProvider,
  { settings, fails, calls }: Inspected,
): ConformanceCase[] {
  const cases: ConformanceCase[] = []
  if (fails !== undefined)
    cases.push(
      caseOf('a turn is finished where substrat has heard that a tool failed, and only there', async () => {
        const turn = await playTurn(provider, settings, fails)
        demand(turn.failed.length > 0, 'a tool of the program failed')
        const { finished, failed } = turn
        const whole = await inspectTurn(provider, settings, turn, { finished, answered: 0 })
        demand(whole.outcome === 'finished', 'what substrat has heard of does not make it unfinished')
        const heard = finished.filter((id) => !failed.includes(id))
        const { outcome } = await inspectTurn(provider, settings, turn, { finished: heard, answered: 0 })
        demand(outcome === 'unfinished', 'a failure that substrat has not heard of makes it unfinished')
      }),
    )
  if (calls !== undefined)
    cases.push(
      caseOf(
        'a turn is finished where substrat has answered the calls of its tools, and only there',
        async () => {
          const turn = await playTurn(provider, settings, calls.prompt)
          const { finished } = turn
          const whole = await inspectTurn(provider, settings, turn, { finished, answered: calls.count })
          demand(whole.outcome === 'finished', 'calls that substrat has answered do not make it unfinished')
          const less = { finished, answered: calls.count - 1 }
          const { outcome } = await inspectTurn(provider, settings, turn, less)
          demand(outcome === 'unfinished', 'a call that substrat has not answered makes it unfinished')
        },
      ),
    )
  return cases
}

/** What substrat's log would have of a turn, were substrat dead now. */
interface Played {
  state: Uint8Array | null
  /** The calls of the program's own tools that have ended, and those of them that failed. */
  finished: string[]
  failed: string[]
  reply: string
}

/** To its end, and not let go: the latest state is that of the turn. */
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
    demand(end.type === 'done', 'a prompt that needs nobody is done')
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
    `what is finished has the reply of the turn: ${JSON.stringify(inspection)}`,
  )
  return inspection
}
