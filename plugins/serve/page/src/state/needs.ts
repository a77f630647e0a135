/** The agents that wait for a person, with what each asks. Read again when an agent changes. */
import { call } from '../api/client.js'
import type { CorruptAgent, ListedAgent, ShownAgent } from '../api/types.js'
import { agents } from './home.js'
import { soon } from './soon.js'
import { Store } from './store.js'

export interface Needs {
  /** The ids of all agents that need a person. */
  ids: ReadonlySet<string>
  /** The newest of them, with their requests. */
  shown: readonly ShownAgent[]
  damaged: readonly CorruptAgent[]
  /** How many more there are. */
  more: number
}

/** Undefined until the first answer. */
export const needs = new Store<Needs | undefined>(undefined)

const CHANGE_MS = 150
const AT_ONCE = 6

let limit = 40
let isReading = false
let isStale = false
const cache = new Map<string, { version: string; shown: ShownAgent }>()

export function followNeeds(signal: AbortSignal): void {
  const stop = agents.subscribe(soon(CHANGE_MS, () => void readNeeds()))
  signal.addEventListener('abort', stop)
}

export function showMoreNeeds(): void {
  limit += 40
  void readNeeds()
}

/** A change during a reading causes one more reading, so that the last one is never too old. */
export async function readNeeds(): Promise<void> {
  isStale = true
  if (isReading) return
  isReading = true
  try {
    while (isStale) {
      isStale = false
      needs.set(await currentNeeds())
    }
  } catch {
    // The connection sign shows it, and the next snapshot causes another reading.
  } finally {
    isReading = false
  }
}

async function currentNeeds(): Promise<Needs> {
  const [needy, scheduled] = await Promise.all([
    call('listAgents', { query: { status: 'needs_you', limit: 10_000 } }),
    call('listAgents', { query: { status: 'scheduled', limit: 1000 } }),
  ])
  const damaged = needy.agents.filter((agent): agent is CorruptAgent => agent.status === 'corrupt')
  // A limit is a wait for a time. The other scheduled agents wait for their own reminders.
  const limited = scheduled.agents.filter(({ status }) => status === 'waiting')
  const readable = [...needy.agents, ...limited]
    .filter(({ status }) => status !== 'corrupt')
    .sort(newestFirst)
  const ids = new Set(needy.agents.map(({ id }) => id))
  const shown = await inTurn(readable.slice(0, limit), AT_ONCE, shownOf)
  return {
    ids,
    shown: shown.filter((each) => each !== undefined),
    damaged,
    more: Math.max(0, readable.length - limit),
  }
}

function newestFirst(a: ListedAgent, b: ListedAgent): number {
  return versionOf(a) < versionOf(b) ? 1 : -1
}

function versionOf(agent: ListedAgent): string {
  return 'updated_at' in agent ? `${agent.updated_at} ${agent.last_seq} ${agent.status}` : ''
}

/** Undefined if the agent was removed meanwhile. */
async function shownOf(agent: ListedAgent): Promise<ShownAgent | undefined> {
  const version = versionOf(agent)
  const known = cache.get(agent.id)
  if (known?.version === version) return known.shown
  try {
    const shown = await call('showAgent', { agent: agent.id })
    cache.set(agent.id, { version, shown })
    return shown
  } catch {
    return undefined
  }
}

async function inTurn<In, Out>(items: In[], atOnce: number, get: (item: In) => Promise<Out>): Promise<Out[]> {
  const found: Out[] = []
  for (let from = 0; from < items.length; from += atOnce)
    found.push(...(await Promise.all(items.slice(from, from + atOnce).map(get))))
  return found
}
