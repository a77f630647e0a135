/**
 * One turn of an agent provider. Its program's group and its native state are recorded the moment they are known, its
 * reply before it is let go.
 */
import type { AgentProvider, AgentSession, ProviderSettings } from '../provider/contract.js'
import { describeFailure } from '../provider/failure.js'
import { createHost } from '../provider/program.js'
import type { RunError } from '../session/records.js'
import type { Session } from '../session/session.js'
import { endedEarly, Gathered, offContract, untilStopped, withinGrace } from './events.js'
import { promptOf } from './history.js'
import type { TurnEvent } from './step.js'
import type { TurnStop } from './stop.js'

/** `persist` makes what happens in mid-turn durable before it returns; what it throws is a failure of storage. */
export async function askAgent(
  session: Session,
  provider: AgentProvider,
  settings: ProviderSettings,
  stop: TurnStop,
  environment: Record<string, string>,
  persist: (event: TurnEvent) => void,
  onText: (text: string) => void,
): Promise<TurnEvent> {
  const gathered = new Gathered()
  const storage = new StorageGuard(persist)
  const host = createHost({ environment, record: (group) => storage.persist({ type: 'launched', group }) })
  let agent: AgentSession | undefined
  try {
    const state = session.state.provider_state
    agent =
      state === null
        ? await provider.create(settings, host)
        : await provider.restore(Buffer.from(state, 'base64'), settings, host)
    let reply: string | undefined
    for await (const event of untilStopped(
      agent.send(promptOf(session), { signal: stop.signal }),
      stop.signal,
    )) {
      if (reply !== undefined) throw offContract('an event after its end')
      if (event?.type === 'text') onText(String(event.text))
      else if (event?.type === 'usage') gathered.count(event.usage)
      else if (event?.type === 'state') storage.persist({ type: 'state_known', state: base64(event.state) })
      else if (event?.type === 'done') reply = gathered.add(event.reply)
      else throw offContract(`an event ${JSON.stringify(event)?.slice(0, 100)}`)
    }
    if (reply === undefined) throw endedEarly()
    storage.persist({ type: 'agent_replied', reply })
    return { type: 'released', state: await letGo(agent, 'suspend'), usage: gathered.usage }
  } catch (error) {
    const isStopped = stop.signal.aborted && !storage.hasFailed
    const state = await letGo(agent, isStopped && stop.reason() === 'suspended' ? 'suspend' : 'stop')
    if (storage.hasFailed) throw storage.failure
    if (isStopped) return { type: 'stopped', reason: stop.reason(), state }
    const failure: RunError = describeFailure(error)
    return { type: 'failed', error: failure }
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
      return state === null || state === undefined ? null : base64(state)
    }
  } catch {
    // What matters of the turn is recorded already.
  }
  return null
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
