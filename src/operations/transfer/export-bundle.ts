/** `export --bundle`: an agent, or an agent and all below it, as one file for another home. Takes no lock. */
import type { OnCount } from '../../dispatch/context.js'
import { readState } from '../../dispatch/read-state.js'
import { viewAgent } from '../../dispatch/view.js'
import { SubstratError, shellWord } from '../../errors.js'
import { BUNDLE_VERSION, type BundledFiles, isTooLarge, packBundle } from '../../files/bundle.js'
import { limits } from '../../limits.js'
import type { Bundle, BundledAgent } from '../../schema/bundle.js'
import type { AgentView } from '../../schema/output.js'
import { blobsIn } from '../../session/blobs-in.js'
import { recordsFrom, withAgent } from '../../session/load.js'
import type { State } from '../../session/state.js'
import { howEnded } from '../../session/status.js'
import { sha256Hex } from '../../start/hash.js'
import { randomUuid } from '../../start/random.js'
import type { Store } from '../../storage/store.js'
import { livingBelow } from '../../tree/children.js'

export interface ExportedBundle {
  bytes: Buffer
  agents: AgentView[]
}

/** With `isTree` all living agents below come along, as they are when each of them is read. */
export function exportBundle(
  store: Store,
  agentId: string,
  isTree: boolean,
  onRead: OnCount = () => undefined,
): ExportedBundle {
  const top = readState(store, agentId)
  if (top.state === 'terminated') throw terminatedError(top)
  const states = isTree ? livingBelow(store, top).reverse() : [top]
  const facts = { bundle_id: randomUuid(), exported_at: new Date().toISOString() }
  return {
    bytes: packed(
      store,
      facts,
      states.map((state, index) => {
        onRead(index, states.length)
        return { state, files: filesOf(store, state.id) }
      }),
    ),
    agents: states.map((state) => viewAgent(store, state)),
  }
}

/** `agents`: the top of the tree first. */
export function packed(
  store: Store,
  facts: Pick<Bundle, 'bundle_id' | 'exported_at' | 'move_id'>,
  agents: { state: State; files: AgentFiles }[],
): Buffer {
  const { state: top } = agents[0] as (typeof agents)[number]
  const logs: BundledFiles['logs'] = new Map(agents.map(({ state, files }) => [state.id, files.log]))
  const blobs: BundledFiles['blobs'] = new Map(agents.map(({ state, files }) => [state.id, files.blobs]))
  const manifest: Bundle = {
    bundle: BUNDLE_VERSION,
    format: Math.max(...agents.map(({ state }) => state.format)),
    home_id: store.homeId,
    ...facts,
    agents: agents.map(({ state, files }) => bundledAgent(state, top.id, files)),
  }
  if (isTooLarge(manifest)) throw tooLarge(top)
  return packBundle({ manifest, logs, blobs })
}

export interface AgentFiles {
  log: Buffer
  blobs: Map<string, Buffer>
}

/** The log and its blobs, durable. */
export function filesOf(store: Store, agentId: string): AgentFiles {
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

function terminatedError({ path, id, moved }: State): SubstratError {
  return new SubstratError('SESSION_STATE', `${path} ${howEnded({ moved })} and cannot be copied`, {
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
