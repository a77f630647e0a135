/** `export --bundle`: an agent, or an agent and all below it, as one file for another home. Takes no lock. */
import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import { SubstratError, shellWord } from '../errors.js'
import { BUNDLE_VERSION, type BundledFiles, isTooLarge, packBundle } from '../files/bundle.js'
import { limits } from '../limits.js'
import type { Bundle, BundledAgent } from '../schema/bundle.js'
import type { AgentView } from '../schema/output.js'
import { blobsIn } from '../session/blobs-in.js'
import { recordsFrom, withAgent } from '../session/load.js'
import type { State } from '../session/state.js'
import { sha256Hex } from '../start/hash.js'
import { randomUuid } from '../start/random.js'
import type { Store } from '../storage/store.js'
import { livingBelow } from '../tree/children.js'

export interface ExportedBundle {
  bytes: Buffer
  agents: AgentView[]
}

/** With `isTree` all living agents below come along, as they are when each of them is read. */
export function exportBundle(store: Store, agentId: string, isTree: boolean): ExportedBundle {
  const top = readState(store, agentId)
  if (top.state === 'terminated') throw terminatedError(top)
  const states = isTree ? livingBelow(store, top).reverse() : [top]
  const logs: BundledFiles['logs'] = new Map()
  const blobs: BundledFiles['blobs'] = new Map()
  const agents = states.map((state) => {
    const files = filesOf(store, state.id)
    logs.set(state.id, files.log)
    blobs.set(state.id, files.blobs)
    return bundledAgent(state, top.id, files)
  })
  const manifest: Bundle = {
    bundle: BUNDLE_VERSION,
    format: Math.max(...states.map(({ format }) => format)),
    bundle_id: randomUuid(),
    home_id: store.homeId,
    exported_at: new Date().toISOString(),
    agents,
  }
  if (isTooLarge(manifest)) throw tooLarge(top)
  return {
    bytes: packBundle({ manifest, logs, blobs }),
    agents: states.map((state) => viewAgent(store, state)),
  }
}

interface AgentFiles {
  log: Buffer
  blobs: Map<string, Buffer>
}

function filesOf(store: Store, agentId: string): AgentFiles {
  const files = withAgent(store, agentId, ({ state }, { log }) => {
    // The copy must not have records that a power cut could still take from the original.
    log.sync()
    const blobs = new Map<string, Buffer>()
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 }, state.log_bytes))
      for (const reference of blobsIn(record))
        if (!blobs.has(reference.blob)) blobs.set(reference.blob, store.readBlob(agentId, reference))
    return { log: log.read(0, state.log_bytes), blobs }
  })
  if (files !== undefined) return files
  // Reports why there is no log.
  readState(store, agentId)
  return filesOf(store, agentId)
}

function bundledAgent(
  { id, name, parent, path }: State,
  topId: string,
  { log, blobs }: AgentFiles,
): BundledAgent {
  return {
    id,
    name,
    parent: id === topId ? null : parent,
    path,
    log_bytes: log.length,
    log_sha256: sha256Hex(log),
    blobs: [...blobs].map(([blob, { length }]) => ({ blob, bytes: length })),
  }
}

function terminatedError({ path, id }: State): SubstratError {
  return new SubstratError('SESSION_STATE', `${path} is terminated and cannot be copied`, {
    hint: `export its conversation: substrat export ${id}; or copy that into a new agent: substrat fork ${id}`,
    facts: { agent_id: id },
  })
}

function tooLarge({ path, id }: State): SubstratError {
  return new SubstratError(
    'USAGE',
    `the logs and attachments of ${path} are larger than a bundle may be, ${limits.bundleBytesMax} bytes`,
    { hint: `export fewer agents, or a text: substrat export ${shellWord(path)}`, facts: { agent_id: id } },
  )
}
