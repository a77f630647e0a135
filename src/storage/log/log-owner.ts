/**
 * The owner of a log: its first record names the agent.
 *
 * Invariant: no command reads from, or appends to, a log that names another agent. Two logs can have the same shape,
 * with each record where the other's snapshot expects it. Then only the agent's id distinguishes them.
 */
import { damagedConversation, type SubstratError } from '../../errors.js'
import { limits } from '../../limits.js'
import { LF, unframe } from './frame.js'
import type { LogReader } from './reader.js'

/** A first record has its agent's id within these bytes. */
const LOG_HEAD_BYTES = 256

/** Whether the head of a log names that agent. False if it names another agent or none. */
function isHeadOf(head: Buffer, agentId: string): boolean {
  return head.includes(`"agent_id":"${agentId}"`)
}

/** Throws CORRUPT if the first record is whole and names another agent. */
export function checkOwner(log: LogReader, agentId: string): void {
  if (isHeadOf(log.read(0, LOG_HEAD_BYTES), agentId)) return
  const owner = ownerOf(log)
  if (owner !== undefined && owner !== agentId) throw foreignLogError(log.path, owner)
}

/** Like checkOwner, but returns the log, or closes it before it throws. */
export function ownLog<L extends LogReader & { close(): void }>(log: L, agentId: string): L {
  try {
    checkOwner(log, agentId)
    return log
  } catch (error) {
    log.close()
    throw error
  }
}

/** Undefined if the first line is damaged. The scan of the records then reports the damage. */
function ownerOf(log: LogReader): string | undefined {
  const bytes = log.read(0, limits.lineBytesMax)
  const end = bytes.indexOf(LF)
  const line = end === -1 ? undefined : unframe(bytes.subarray(0, end))
  if (line === undefined || 'damage' in line) return undefined
  const { agent_id } = line.object
  return typeof agent_id === 'string' ? agent_id.slice(0, 36) : undefined
}

function foreignLogError(path: string, owner: string): SubstratError {
  return damagedConversation(`${path} is damaged at byte 0, record 1: it is the log of agent ${owner}`, {
    hint: "put this agent's own log back, or restore it from a backup",
    facts: { path, offset: 0, seq: 1 },
  })
}
