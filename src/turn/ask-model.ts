/** One request to a model provider, and what came of it as an event. */
import type { ModelProvider, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import type { Session } from '../session/session.js'
import { endedEarly, Gathered, offContract, shown, untilStopped } from './events.js'
import { conversation, promptOf } from './history.js'
import type { TurnEvent } from './step.js'
import type { TurnStop } from './stop.js'
import type { StrayErrors } from './stray-errors.js'

export async function askModel(
  session: Session,
  provider: ModelProvider,
  settings: ProviderSettings,
  stop: TurnStop,
  strays: StrayErrors,
  onText: (text: string) => void,
): Promise<TurnEvent> {
  const gathered = new Gathered()
  const request = {
    ...settings,
    prompt: promptOf(session),
    messages: () => conversation(session),
    attempt: session.state.recovery.unanswered_requests,
  }
  try {
    let stopReason: 'end' | 'length' | undefined
    const events = provider.complete(request, { signal: stop.signal })
    for await (const event of untilStopped(events, { signal: stop.signal, strays })) {
      if (stopReason !== undefined) throw offContract('an event after its stop')
      if (event?.type === 'text') onText(gathered.add(event.text))
      else if (event?.type === 'usage') gathered.count(event.usage)
      else if (event?.type === 'stop' && (event.reason === 'end' || event.reason === 'length'))
        stopReason = event.reason
      else throw offContract(`an event ${shown(event)}`)
    }
    if (stopReason === undefined) throw endedEarly()
    return { type: 'model_responded', reply: gathered.text, stop: stopReason, usage: gathered.usage }
  } catch (error) {
    if (stop.signal.aborted) return { type: 'stopped', reason: stop.reason(), state: null }
    return { type: 'failed', error: describeFailure(error) }
  }
}
