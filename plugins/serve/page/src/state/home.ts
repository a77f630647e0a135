/** All agents of the home, as the server's events give them: a snapshot, then each change. */
import { follow, type ServerEvent } from '../api/stream.js'
import type { ListedAgent } from '../api/types.js'
import { soon } from './soon.js'
import { Store } from './store.js'

export type Agents = ReadonlyMap<string, ListedAgent>

/** Undefined until the first snapshot. */
export const agents = new Store<Agents | undefined>(undefined)

/** Many changes at once are drawn once. */
const DRAW_MS = 50

export function followHome(signal: AbortSignal): void {
  let current = new Map<string, ListedAgent>()
  const publish = soon(DRAW_MS, () => agents.set(new Map(current)))
  const onEvent = ({ event, data }: ServerEvent): void => {
    if (event === 'snapshot') {
      const { agents } = JSON.parse(data) as { agents: ListedAgent[] }
      current = new Map(agents.map((agent) => [agent.id, agent]))
    } else if (event === 'agent') {
      const agent = JSON.parse(data) as ListedAgent
      if ('state' in agent && agent.state === 'terminated') current.delete(agent.id)
      else current.set(agent.id, agent)
    } else if (event === 'removed') {
      current.delete((JSON.parse(data) as { id: string }).id)
    } else return
    publish()
  }
  void follow(() => '/v1/events', { signal, onEvent })
}
