/** The answer of `show` about agents in sight. An agent is read again when it changes. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/client.js'
import type { ListedAgent, ShownAgent } from '../api/types.js'

const cache = new Map<string, { version: string; shown: ShownAgent }>()
const CACHED_MAX = 2000
const AT_ONCE = 6

let reading = 0
const waiting: (() => void)[] = []

export function versionOf(agent: ListedAgent): string {
  return 'updated_at' in agent
    ? `${agent.updated_at} ${agent.last_seq} ${agent.status} ${agent.stopped === true}`
    : ''
}

/** The latest answer that is known, perhaps an older one. */
export function knownShown({ id }: ListedAgent): ShownAgent | undefined {
  return cache.get(id)?.shown
}

/** Undefined if the agent was removed meanwhile, or is no longer in sight when its turn comes. */
export async function shownOf(
  agent: ListedAgent,
  isWanted = (): boolean => true,
  isAgain = false,
): Promise<ShownAgent | undefined> {
  const version = versionOf(agent)
  const known = cache.get(agent.id)
  if (known?.version === version && !isAgain) return known.shown
  if (reading >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  reading += 1
  try {
    if (!isWanted()) return undefined
    const shown = await call('showAgent', { agent: agent.id })
    const [oldest] = cache.keys()
    if (cache.size >= CACHED_MAX && oldest !== undefined) cache.delete(oldest)
    cache.set(agent.id, { version, shown })
    return shown
  } catch {
    return undefined
  } finally {
    reading -= 1
    // The newest wish first: it is in sight.
    waiting.pop()?.()
  }
}

/** A row that scrolls by is not read. */
const SETTLE_MS = 120
/** No record says that the process of a turn is stopped, so a running agent in sight is also read again after this time. */
export const RUNNING_MS = 4000

export function useShown(agent: ListedAgent): ShownAgent | undefined {
  const [, redraw] = useState(0)
  const version = versionOf(agent)
  useEffect(() => {
    if (!('state' in agent) || cache.get(agent.id)?.version === version) return
    let isWanted = true
    const timer = setTimeout(
      () => void shownOf(agent, () => isWanted).then(() => isWanted && redraw((count) => count + 1)),
      SETTLE_MS,
    )
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [agent.id, version])
  useEffect(() => {
    if (agent.status !== 'running') return
    let isWanted = true
    const again = (): void =>
      void shownOf(agent, () => isWanted, true).then(() => isWanted && redraw((count) => count + 1))
    const timer = setInterval(again, RUNNING_MS)
    return () => {
      isWanted = false
      clearInterval(timer)
    }
  }, [agent.id, version])
  return knownShown(agent)
}
