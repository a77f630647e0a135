/**
 * Whose log a file is: its first record names the agent.
 *
 * Invariant: nothing is read from, or appended to, a log that names another agent. Two logs can have the same shape, so that
 * each record of the one is where the snapshot of the other says: only the name tells them apart.
 */
import { damagedConversation, type SubstratError } from '../../errors.js'
import { limits } from '../../limits.js'
import { LF, unframe } from './frame.js'
import type { LogReader } from './reader.js'

/** A first record that we wrote names its agent within these bytes. */
const LOG_HEAD_BYTES = 256

/** Whether the beginning of a log names that agent. False where another is named, and where the name is not found. */
function isHeadOf(head: Buffer, agentId: string): boolean {
  return head.includes(`"agent_id":"${agentId}"`)
}

/** Throws CORRUPT for a log whose first record is whole and names another agent. */
export function checkOwner(log: LogReader, agentId: string): void {
  if (isHeadOf(log.read(0, LOG_HEAD_BYTES), agentId)) return
  const owner = ownerOf(log)
  if (owner !== undefined && owner !== agentId) throw foreignLogError(log.path, owner)
}

/** The log, where it may be of that agent; else it is closed again. Throws as above. */
export function ownLog<L extends LogReader & { close(): void }>(log: L, agentId: string): L {
  try {
    checkOwner(log, agentId)
    return log
  } catch (error) {
    log.close()
    throw error
  }
}

/** Undefined where the first line is not whole: the reader of the records says where it is damaged. */
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
    hint: 'put the log of the agent back, or restore it from a backup',
    facts: { path, offset: 0, seq: 1 },
  })
}
