/** One request to a model provider, and what came of it as an event. */
import type { ModelProvider, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import type { Session } from '../session/session.js'
import { endedEarly, Gathered, offContract, untilStopped } from './events.js'
import { conversation, promptOf } from './history.js'
import type { TurnEvent } from './step.js'
import type { TurnStop } from './stop.js'

export async function askModel(
  session: Session,
  provider: ModelProvider,
  settings: ProviderSettings,
  stop: TurnStop,
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
    for await (const event of untilStopped(
      provider.complete(request, { signal: stop.signal }),
      stop.signal,
    )) {
      if (stopReason !== undefined) throw offContract('an event after its stop')
      if (event?.type === 'text') onText(gathered.add(event.text))
      else if (event?.type === 'usage') gathered.count(event.usage)
      else if (event?.type === 'stop' && (event.reason === 'end' || event.reason === 'length'))
        stopReason = event.reason
      else throw offContract(`an event ${JSON.stringify(event)?.slice(0, 100)}`)
    }
    if (stopReason === undefined) throw endedEarly()
    return { type: 'model_responded', reply: gathered.text, stop: stopReason, usage: gathered.usage }
  } catch (error) {
    if (stop.signal.aborted) return { type: 'stopped', reason: stop.reason(), state: null }
    return { type: 'failed', error: describeFailure(error) }
  }
}
