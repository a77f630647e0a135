/** The agents that wait for a person, with what each asks. Read again when an agent changes. */
import { needsPerson } from 'substrat/words'
import { Problem } from '../api/problem.js'
import type { CorruptAgent, ListedAgent, ShownAgent } from '../api/types.js'
import { type Agents, agents } from './home.js'
import { readMail } from './mail.js'
import { shownOf, versionOf } from './shown.js'
import { soon } from './soon.js'
import { Store } from './store.js'

export interface Needs {
  /** How many agents need a person. */
  count: number
  /** The newest of them, with their requests. */
  shown: readonly ShownAgent[]
  damaged: readonly CorruptAgent[]
  /** How many more there are. */
  more: number
}

/** Undefined until the agents are known. */
export const needs = new Store<Needs | undefined>(undefined)

const CHANGE_MS = 150
const AGAIN_MS = 2000
const againSoon = soon(AGAIN_MS, () => void readNeeds())

let limit = 40
let isReading = false
let isStale = false

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
      if (agents.value !== undefined) needs.set(await currentNeeds(agents.value))
      await readMail()
    }
  } catch (error) {
    // Without a server, the connection sign shows it, and the next snapshot causes another reading. A busy one sends none.
    if (error instanceof Problem && error.isTemporary && error.status !== undefined) againSoon()
  } finally {
    isReading = false
  }
}

async function currentNeeds(known: Agents): Promise<Needs> {
  const needy = [...known.values()].filter(needsPerson)
  const damaged = needy.filter((agent): agent is CorruptAgent => agent.status === 'corrupt')
  const readable = needy.filter(({ status }) => status !== 'corrupt').sort(newestFirst)
  const shown = await Promise.all(readable.slice(0, limit).map((agent) => shownOf(agent)))
  return {
    count: needy.length,
    shown: shown.filter((each) => each !== undefined),
    damaged,
    more: Math.max(0, readable.length - limit),
  }
}

function newestFirst(a: ListedAgent, b: ListedAgent): number {
  return versionOf(a) < versionOf(b) ? 1 : -1
}
