/**
 * The only loop of a turn: decide, make the records durable, then perform the effect, and feed back what came of it.
 *
 * What is on disk if we die: before a persist, nothing of the step; after it, the records that name what we were about
 * to do, which the recovery table has a row for.
 */
import type { Provider, ProviderSettings } from '../provider/contract.js'
import type { Session } from '../session/session.js'
import type { Run } from '../session/state.js'
import { askAgent } from './ask-agent.js'
import { askModel } from './ask-model.js'
import { type Effect, step, type TurnEvent, withRest } from './step.js'
import type { TurnStop } from './stop.js'
import { StrayErrors } from './stray-errors.js'

export interface TurnPorts {
  provider: Provider
  settings: ProviderSettings
  stop: TurnStop
  /** SUBSTRAT_* for the programs of this turn. */
  environment: Record<string, string>
  onText(text: string): void
  /** Whether the session comes to rest with the end of this run: asked when the run ends. */
  isLast(): boolean
}

/** The run as it ended. Throws only where storage failed; then the run is open on disk, for recovery. */
export async function drive(
  session: Session,
  first: TurnEvent,
  ports: (run: Run) => TurnPorts,
): Promise<Run> {
  let effect = persist(session, first, () => false)
  const { provider, settings, stop, environment, onText, isLast } = ports(session.state.run as Run)
  const record = (event: TurnEvent): Effect | undefined => persist(session, event, isLast)
  const strays = new StrayErrors()
  try {
    while (effect === 'ask') {
      const event =
        provider.kind === 'model'
          ? await askModel(session, provider, settings, stop, strays, onText)
          : await askAgent(session, provider, settings, stop, strays, environment, record, onText)
      effect = record(event)
    }
    return session.state.run as Run
  } finally {
    strays.close()
    stop.close()
  }
}

function persist(session: Session, event: TurnEvent, isLast: () => boolean): Effect | undefined {
  const { records, effect } = step(session.state, event)
  const ends = withRest(session.state, records)
  session.append(ends.length > records.length && isLast() ? ends : records)
  return effect
}
