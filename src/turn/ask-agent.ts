/**
 * One turn of an agent provider. Its program's group and its native state are recorded the moment they are known, its
 * reply before it is let go.
 */
import { limits } from '../limits.js'
import type { AgentHost, AgentProvider, AgentSession, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { createHost } from '../provider/program.js'
import type { RunError } from '../session/records.js'
import type { Session } from '../session/session.js'
import {
  endedEarly,
  Gathered,
  offContract,
  orStopped,
  shown,
  type TurnEnds,
  untilStopped,
  withinGrace,
} from './events.js'
import { promptOf } from './history.js'
import type { TurnStop } from './stop.js'
import type { StrayErrors } from './stray-errors.js'
import type { TurnEvent } from './turn-event.js'

/** `persist` makes what happens in mid-turn durable before it returns; what it throws is a failure of storage. */
export async function askAgent(
  session: Session,
  provider: AgentProvider,
  settings: ProviderSettings,
  stop: TurnStop,
  strays: StrayErrors,
  environment: Record<string, string>,
  persist: (event: TurnEvent) => void,
  onText: (text: string) => void,
): Promise<TurnEvent> {
  const gathered = new Gathered()
  const ends = { signal: stop.signal, strays }
  const storage = new StorageGuard(persist)
  const host = createHost({ environment, record: (group) => storage.persist({ type: 'launched', group }) })
  let agent: AgentSession | undefined
  try {
    agent = await open(session, provider, settings, host, ends)
    const events = agent.send(promptOf(session), { signal: stop.signal })
    let reply: string | undefined
    for await (const event of untilStopped(events, ends)) {
      if (reply !== undefined) throw offContract('an event after its end')
      if (event?.type === 'text') onText(String(event.text))
      else if (event?.type === 'usage') gathered.count(event.usage)
      else if (event?.type === 'state') storage.persist({ type: 'state_known', state: stored(event.state) })
      else if (event?.type === 'done') reply = gathered.add(event.reply)
      else throw offContract(`an event ${shown(event)}`)
    }
    // Also where the provider took the failure to record for something that it may pass over.
    if (storage.hasFailed) throw storage.failure
    if (reply === undefined) throw endedEarly()
    storage.persist({ type: 'agent_replied', reply })
    return {
      type: 'released',
      state: await letGo(agent, 'suspend'),
      usage: gathered.usage,
      terminates: false,
    }
  } catch (error) {
    const isStopped = stop.signal.aborted && !storage.hasFailed
    const state = await letGo(agent, isStopped && stop.reason() === 'suspended' ? 'suspend' : 'stop')
    if (storage.hasFailed) throw storage.failure
    if (isStopped) return { type: 'stopped', reason: stop.reason(), state, result: null }
    const failure: RunError = describeFailure(error)
    return { type: 'failed', error: failure }
  }
}

async function open(
  session: Session,
  provider: AgentProvider,
  settings: ProviderSettings,
  host: AgentHost,
  ends: TurnEnds,
): Promise<AgentSession> {
  const state = session.state.provider_state
  const opening =
    state === null
      ? provider.create(settings, host)
      : provider.restore(Buffer.from(state, 'base64'), settings, host)
  try {
    return await orStopped(opening, ends)
  } catch (error) {
    // One that comes too late is let go.
    Promise.resolve(opening).then(
      (late) => letGo(late, 'stop'),
      () => undefined,
    )
    throw error
  }
}

/** A failure to record is not the provider's, even where the provider's code is what it is thrown through. */
class StorageGuard {
  failure: unknown
  hasFailed = false

  constructor(private readonly write: (event: TurnEvent) => void) {}

  persist(event: TurnEvent): void {
    try {
      this.write(event)
    } catch (error) {
      this.failure ??= error
      this.hasFailed = true
      throw error
    }
  }
}

/** Never throws and never hangs: a provider that cannot let go is left to recovery. */
async function letGo(agent: AgentSession | undefined, how: 'suspend' | 'stop'): Promise<string | null> {
  if (agent === undefined) return null
  try {
    if (how === 'stop') await withinGrace(agent.stop())
    else {
      const state = await withinGrace(agent.suspend())
      return state === null || state === undefined ? null : stored(state)
    }
  } catch {
    // What matters of the turn is recorded already.
  }
  return null
}

/** As it is recorded. */
function stored(state: unknown): string {
  if (!(state instanceof Uint8Array)) throw offContract('a state that is no bytes')
  if (state.length > limits.providerStateBytesMax)
    throw offContract(`a state of ${state.length} bytes; ${limits.providerStateBytesMax} are the most`)
  return Buffer.from(state).toString('base64')
}
