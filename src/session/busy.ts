/** The error for an agent that another process holds. */
import { readableTime } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import type { Holder, Store } from '../storage/store.js'
import { readableState } from './peek-state.js'

/** Names the holder: its pid, host and command, and when it took the lock. */
export function busyError(store: Store, agentId: string): SubstratError {
  const holder = store.holder(agentId)
  const agent = readableState(store, agentId)?.name ?? agentId
  return new SubstratError('LOCKED', `agent ${agent} is busy: ${describeHolder(holder)} holds it`, {
    hint: `see what it is doing: substrat show ${shellWord(agent)}`,
    facts: { agent_id: agentId, ...holderFacts(holder) },
  })
}

function describeHolder(holder: Holder | undefined): string {
  if (holder === undefined) return 'another process'
  return `${holder.command}, pid ${holder.pid} on ${holder.host} since ${readableTime(holder.since)},`
}

function holderFacts(holder: Holder | undefined): Record<string, string | number> {
  if (holder === undefined) return {}
  const { pid, host, command, since } = holder
  return { pid, host, command, since }
}
