/** The agents that `wait --all` and `wait --from me` mean. */
import type { State } from '../session/state.js'
import type { Store } from '../storage/store.js'
import { lowestFirst, oldestFirst, readForest } from './forest.js'

export interface Selection {
  /** `below`: the agents of `tops` and all below them; without `tops`, every agent that the caller may wait for. `own`: those that the caller made. */
  kind: 'below' | 'own'
  tops: string[]
  /** The agent in whose turn the command runs. Null at a shell. */
  caller: string | null
}

/** The living agents, oldest first. For the whole home, unreadable ones too: they are last. An agent never waits for itself. */
export function selectedAgents(store: Store, { kind, tops, caller }: Selection): string[] {
  const forest = readForest(store)
  const isWhole = kind === 'below' && tops.length === 0 && caller === null
  const readable = [...forest.agents.values()].sort(oldestFirst)
  const made = caller === null ? forest.roots : (forest.children.get(caller) ?? [])
  const from = tops.length > 0 || caller === null ? tops : [caller]
  const meant = new Set(kind === 'own' ? made : from.flatMap((id) => lowestFirst(forest, id)))
  const isMeant = ({ id, state }: State): boolean =>
    state !== 'terminated' && id !== caller && (isWhole || meant.has(id))
  const unreadable = isWhole ? [...forest.strays.keys()].filter((id) => !forest.agents.has(id)) : []
  return [...readable.filter(isMeant).map(({ id }) => id), ...unreadable]
}
