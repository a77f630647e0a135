/** Contention, with its holder: pid, host, command, since when. */
import { readableTime } from '../clock.js'
import { SubstratError, shellWord } from '../errors.js'
import type { FileStore, Holder } from '../storage/store.js'
import { openForRead } from './open-for-read.js'

export function busyError(store: FileStore, agentId: string): SubstratError {
  const holder = store.agentHolder(agentId)
  const agent = nameIn(store, agentId)
  return new SubstratError('LOCKED', `agent ${agent} is busy: held by ${describeHolder(holder)}`, {
    hint: `see what it is doing: substrat show ${shellWord(agent)}; to wait for it give a longer --timeout, or leave a message: --if-busy queue`,
    facts: { agent_id: agentId, ...holderFacts(holder) },
  })
}

/** What a person calls the agent; its log may be unreadable, which is not the matter here. */
function nameIn(store: FileStore, agentId: string): string {
  try {
    return openForRead(store, agentId)?.state.name ?? agentId
  } catch {
    return agentId
  }
}

function describeHolder(holder: Holder | undefined): string {
  if (holder === undefined) return 'another process'
  return `pid ${holder.pid} on ${holder.host} since ${readableTime(holder.since)} (${holder.command})`
}

function holderFacts(holder: Holder | undefined): Record<string, string | number> {
  if (holder === undefined) return {}
  const { pid, host, command, since } = holder
  return { pid, host, command, since }
}
