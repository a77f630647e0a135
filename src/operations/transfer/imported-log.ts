/** The log of an agent in a bundle, as `import` stores it: checked, with the agent's new id, name and place. */
import { RUN_AGAIN, SubstratError } from '../../errors.js'
import { refused } from '../../files/tar.js'
import { isBlob, type JsonObject } from '../../format.js'
import type { BundledAgent } from '../../schema/bundle.js'
import type { Content } from '../../schema/types.js'
import { blobsIn } from '../../session/blobs-in.js'
import { loadFrom, recordsFrom } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { BatchLines, type BytesLog } from '../../storage/store.js'

export interface ImportRequest {
  bundle: Buffer
  /** Null: the name of the first agent in the bundle. */
  name: string | null
  /** Absolute. Null: those of the originals. */
  workspace: string | null
  /** Leave agents that move closed, for a later command to open. */
  isHeld?: boolean
  /** Called before anything is written, with what the agents of another home may run. It throws if they must not be imported. */
  confirm?: (agents: string[]) => Promise<void>
  /** If the move was already imported, return its agents. */
  usesExisting?: boolean
}

export interface Copy {
  id: string
  name: string | null
  parent: string | null
  agent: BundledAgent
}

export function noWorkspace({ path }: BundledAgent, { workspace }: State): SubstratError {
  return new SubstratError('USAGE', `the working directory of ${path} does not exist here: ${workspace}`, {
    hint: 'choose one for all copies: --workspace DIR',
    facts: { workspace },
  })
}

export function checkBlobs(log: BytesLog, { path }: BundledAgent, blobs: Map<string, Buffer>): void {
  for (const { record } of recordsFrom(log, { seq: 1, offset: 0 }))
    for (const { blob } of blobsIn(record))
      if (!blobs.has(blob)) throw refused(`a record of ${path} names a blob that it lacks`)
}

/** The lines of the original. Only its birth, and a seed from its own log, name the agent itself. */
export function ownRecords({ id, name, parent, agent }: Copy, path: string, log: BytesLog): Buffer {
  const lines = new BatchLines(0)
  const parts: Buffer[] = []
  let copied = 0
  const scan = log.batches({ offset: 0, seq: 1, isDamageRefused: true })
  let step = scan.next()
  for (; step.done !== true; step = scan.next()) {
    for (const { record, offset, end } of step.value) {
      const { crc: _, ...fields } = record
      const own = ownFields(fields, agent.id, { agent_id: id, name, parent, path })
      if (own === undefined) continue
      parts.push(log.read(copied, offset), lineOf(lines, own))
      copied = end
    }
  }
  if (step.value.damage !== undefined) throw refused(`the log of ${agent.path} is damaged`)
  return Buffer.concat([...parts, log.read(copied, log.size())])
}

/** Undefined for a record that does not name the agent itself. */
function ownFields(
  record: JsonObject,
  originalId: string,
  {
    agent_id,
    name,
    parent,
    path,
  }: { agent_id: string; name: string | null; parent: string | null; path: string },
): JsonObject | undefined {
  if (record.kind === 'session.seeded' && record.from === originalId) return { ...record, from: agent_id }
  if (record.kind !== 'session.created') return undefined
  if (record.agent_id !== originalId) throw refused(`a log is that of another agent than its manifest says`)
  const { path: _, ...born } = record
  // The fields keep their order, so that the log of an agent that moves keeps its bytes.
  return parent === null ? { ...born, agent_id, name, parent } : { ...record, agent_id, name, parent, path }
}

function lineOf(lines: BatchLines, record: JsonObject): Buffer {
  const before = lines.bytes.length
  lines.add(record)
  return lines.bytes.subarray(before)
}

export function foldedLog(log: BytesLog): State {
  try {
    const { state, damage } = loadFrom(log, undefined)
    if (damage === undefined) return state
  } catch (error) {
    if (!(error instanceof SubstratError && error.code === 'CORRUPT')) throw error
  }
  throw refused(`the log of ${log.path} is damaged`)
}

export function textIn(blobs: Map<string, Buffer>, content: Content): string {
  if (!isBlob(content)) return content
  const bytes = blobs.get(content.blob)
  if (bytes === undefined) throw refused('a record names a blob that it lacks')
  return bytes.toString('utf8')
}

/** Creates the agent. Another import of the same bundle may have been faster, also with the name. */
export async function besideOthers<T>(agentId: string, create: () => Promise<T>): Promise<T> {
  try {
    return await create()
  } catch (error) {
    const isRace = error instanceof SubstratError && ['LOCKED', 'NAME_TAKEN'].includes(error.code)
    throw isRace && error.facts.agent_id === agentId ? importedElsewhere(agentId) : error
  }
}

export function importedElsewhere(agentId: string): SubstratError {
  return new SubstratError('LOCKED', `another process imports agent ${agentId} at the same time`, {
    hint: RUN_AGAIN,
    facts: { agent_id: agentId },
  })
}
