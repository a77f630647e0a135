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
  const stopped = stoppedHolder(store, agentId, holder)
  const why = stopped === undefined ? '' : `; that process ${stopped.what}`
  return new SubstratError('LOCKED', `agent ${agent} is busy: ${describeHolder(holder)} holds it${why}`, {
    hint: stopped?.advice ?? `see what it is doing: substrat show ${word}`,
    facts: { agent_id: agentId, ...holderFacts(holder) },
  })
}

/** A holder that runs no code until something continues it. `what`: that it is stopped, and its last sign of life. */
export interface StoppedHolder {
  holder: Holder
  what: string
  /** The commands that end the stop. */
  advice: string
}

/** Every command and list asks this function. Undefined unless the agent's holder is stopped. */
export function stoppedHolder(
  store: Store,
  agentId: string,
  holder = store.isHeld(agentId) ? store.holder(agentId) : undefined,
): StoppedHolder | undefined {
  if (holder === undefined || !isHolderStopped(holder)) return undefined
  const { path = agentId, updated_at: at } = readableState(store, agentId) ?? {}
  // The kernel does not say since when a process is stopped.
  const sign = at === undefined ? '' : ` (its last record is of ${readableTime(at)})`
  return { holder, what: `is stopped${sign}`, advice: stoppedAdvice(shellWord(path), holder) }
}

/** For a command that waits for the agent. Undefined unless its holder is stopped. */
export function stoppedText(store: Store, agentId: string): string | undefined {
  const stopped = stoppedHolder(store, agentId)
  if (stopped === undefined) return undefined
  const { holder, what, advice } = stopped
  const agent = readableState(store, agentId)?.path ?? agentId
  return `pid ${holder.pid} (${holder.command}), which holds ${agent}, ${what}; ${advice}`
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
