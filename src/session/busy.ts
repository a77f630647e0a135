/** The error for an agent that another process holds. */
import { readableTime } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import type { Holder, Store } from '../storage/store.js'
import { isHolderStopped, stoppedAdvice } from './holder-process.js'
import { readableState } from './peek-state.js'

/** Names the holder: its pid, host and command, and when it took the lock. */
export function busyError(store: Store, agentId: string): SubstratError {
  const holder = store.holder(agentId)
  const agent = readableState(store, agentId)?.path ?? agentId
  const word = shellWord(agent)
  const isStopped = holder !== undefined && isHolderStopped(holder)
  const why = isStopped ? `; that process is stopped${lastSign(store, agentId)}` : ''
  return new SubstratError('LOCKED', `agent ${agent} is busy: ${describeHolder(holder)} holds it${why}`, {
    hint: isStopped ? stoppedAdvice(word, holder) : `see what it is doing: substrat show ${word}`,
    facts: { agent_id: agentId, ...holderFacts(holder) },
  })
}

/** The kernel does not say since when a process is stopped. */
function lastSign(store: Store, agentId: string): string {
  const at = readableState(store, agentId)?.updated_at
  return at === undefined ? '' : ` (its last record is of ${readableTime(at)})`
}

/** For a command that waits for the agent. Undefined unless its holder is stopped. */
export function stoppedText(store: Store, agentId: string): string | undefined {
  const holder = store.isHeld(agentId) ? store.holder(agentId) : undefined
  if (holder === undefined || !isHolderStopped(holder)) return undefined
  const agent = readableState(store, agentId)?.path ?? agentId
  const what = `pid ${holder.pid} (${holder.command}), which holds ${agent}, is stopped`
  return `${what}${lastSign(store, agentId)}; ${stoppedAdvice(shellWord(agent), holder)}`
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
