import { createHash } from 'node:crypto'
import type { Upkeep } from 'substrat/store'
import { snapshotValues, unframedSnapshot } from './agent-lease.js'
import { bytesOf } from './client.js'
import { call, type HeldRight, type Shared } from './rights.js'

/** A home in a database has no files to look after. `heldOf`: the right to the agent that this process took last. */
export function upkeepOf(shared: Shared, heldOf: (agentId: string) => HeldRight): Upkeep {
  const write = (name: string, agentId: string, ...values: unknown[]): void => {
    const { lease } = heldOf(agentId)
    call(shared, agentId, (client) => client.call(name, [agentId, lease, ...values]))
  }
  const keptAt = (agentId: string): string => `${shared.url}/kept/${agentId}`
  return {
    isLocal: true,
    rowTroubles: () =>
      call(shared, undefined, (client) => client.read('row_troubles')).map(({ agent_id, detail, thing }) => ({
        agentId: (agent_id ?? null) as string | null,
        detail: detail as string,
        path: `${shared.url}/${thing}`,
        isLoss: thing === 'home',
      })),
    survey: () => [],
    tighten: () => undefined,
    lifeOf: () => 'none',
    holderOf: () => undefined,
    breakLock: () => undefined,
    isStagingAlive: () => false,
    isSpawning: () => false,
    blobNames: (agentId) => call(shared, agentId, (client) => client.list('blob_names', agentId)),
    blobPath: (agentId, blob) => `${shared.url}/blobs/${agentId}/${blob}`,
    requestPath: (agentId, runId, verb) => `${shared.url}/requests/${agentId}/${runId}.${verb}`,
    waitsLeft: () => [],
    hasServerFiles: () => false,
    sweep: () => 0,
    clearSnapshot: (agentId) => write('clear_snapshot', agentId),
    readSnapshot: (agentId) => {
      const [row] = call(shared, agentId, (client) => client.read('open_agent', agentId))
      return unframedSnapshot(shared, bytesOf(row?.snapshot))
    },
    keepDamaged: (agentId) => {
      write('keep_damaged', agentId)
      return { log: keptAt(agentId), snapshot: keptAt(agentId) }
    },
    writeBlob: (agentId, content) => {
      write('write_blob', agentId, content)
      return { blob: createHash('sha256').update(content).digest('hex'), bytes: content.length }
    },
    replaceLog: (agentId, bytes, snapshot) =>
      write('replace_log', agentId, bytes, ...snapshotValues(shared, snapshot), shared.kit.FORMAT),
  }
}
