/**
 * `import`: creates copies of the agents of a bundle, with new ids. They have the conversation, the attachments and the settings of
 * the originals, without their mail, waits, tokens and keys.
 *
 * Everything is checked before the first agent is created. The new ids derive from the bundle, the home and the name, so a command
 * that is repeated after a kill creates only the agents that are missing.
 */
import { refuseInTool } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { needsVisit } from '../../dispatch/pending-visits.js'
import { conversationIn } from '../../dispatch/seed.js'
import { viewAgent } from '../../dispatch/view.js'
import { SubstratError } from '../../errors.js'
import { type BundledFiles, unpackBundle } from '../../files/bundle.js'
import { refused } from '../../files/tar.js'
import { isDirectory } from '../../files/user-files.js'
import { checkWorkspace } from '../../provider/workspace.js'
import { recordsToClose } from '../../recovery/close-open.js'
import type { Bundle } from '../../schema/bundle.js'
import type { ImportedAgents } from '../../schema/output-home.js'
import type { Content } from '../../schema/types.js'
import { type EncodedBatch, encodeBatch } from '../../session/batch.js'
import { deriveId } from '../../session/ids.js'
import { openForRead } from '../../session/load.js'
import type { NewRecord } from '../../session/records.js'
import type { State } from '../../session/state.js'
import { type Host, placeHere } from '../../session/workspace-host.js'
import { BytesLog } from '../../storage/store.js'
import { createAgent } from '../../tree/create-agent.js'
import { checkName } from '../../tree/names.js'
import { confirmForeign } from './foreign-bundle.js'
import {
  besideOthers,
  type Copy,
  checkBlobs,
  foldedLog,
  type ImportRequest,
  noWorkspace,
  ownRecords,
  textIn,
} from './imported-log.js'

/** Calls back with each agent once it is durable. */
export async function importAgents(ctx: Context, request: ImportRequest): Promise<ImportedAgents> {
  refuseInTool(ctx.caller, 'import agents')
  if (request.workspace !== null) checkWorkspace(request.workspace)
  const bundle = unpackBundle(request.bundle)
  if (bundle.manifest.move_id !== undefined) {
    // Loaded only here: copies do not need it.
    const { importMove } = await import('./import-move.js')
    return importMove(ctx, request, bundle)
  }
  const copies = copiesOf(ctx.store.homeId, bundle.manifest, request.name)
  // The whole bundle is folded before its first agent is created.
  const states = copies.map((copy) => {
    const { state } = firstBatch(copy, copy.agent.path, bundle, request.workspace, {})
    if (!isDirectory(state.workspace)) throw noWorkspace(copy.agent, state)
    return state
  })
  if (copies.some(({ id }) => !ctx.store.hasAgent(id)))
    await confirmForeign(ctx.store, bundle, states, request)
  const agents: State[] = []
  let created = 0
  for (const [index, copy] of copies.entries()) {
    ctx.reporter.count('agents imported', index, copies.length)
    const known = openForRead(ctx.store, copy.id)?.state
    agents.push(known ?? (await create(ctx, copy, bundle, request.workspace)))
    if (known === undefined) created += 1
  }
  if (created === 0)
    ctx.reporter.note(
      'an earlier command has created these copies; for others, choose another name: --name NAME',
    )
  return { agents: agents.map((state) => viewAgent(ctx.store, state)), created }
}

async function create(
  ctx: Context,
  copy: Copy,
  bundle: BundledFiles,
  workspace: string | null,
): Promise<State> {
  const { id, name, parent } = copy
  const encode = ({ path }: { path: string }): EncodedBatch =>
    firstBatch(copy, path, bundle, workspace, placeHere(ctx.store))
  const session = await withName(() =>
    besideOthers(id, () =>
      createAgent(ctx.store, { id, name, parent, encode, command: ctx.command }, ctx.bounds),
    ),
  )
  const { state } = session
  if (state.seed?.seq === state.last_seq)
    ctx.reporter.note(
      `${state.path}: the session of ${state.provider_name} stays with the original; the next turn begins a new one with the conversation`,
    )
  await session.close((each) => needsVisit(ctx.store, each))
  return state
}

/** The hint of \`createAgent\` is for a spawn. */
async function withName<T>(create: () => Promise<T>): Promise<T> {
  try {
    return await create()
  } catch (error) {
    if (!(error instanceof SubstratError && error.code === 'NAME_TAKEN')) throw error
    const { message, facts } = error
    throw new SubstratError('NAME_TAKEN', message, {
      hint: 'choose another name for the copy: --name NAME',
      facts,
    })
  }
}

function copiesOf(homeId: string, { bundle_id, agents }: Bundle, name: string | null): Copy[] {
  const ids = new Map(
    agents.map(({ id }) => [id, deriveId('import', bundle_id, homeId, name ?? '', id)] as const),
  )
  return agents.map((agent, index) => {
    const own = index === 0 && name !== null ? name : agent.name
    return {
      id: ids.get(agent.id) as string,
      name: own === null ? null : checkName(own),
      parent: agent.parent === null ? null : (ids.get(agent.parent) as string),
      agent,
    }
  })
}

/** The log of the copy: the records of the original, and a batch that makes it a copy. */
function firstBatch(
  copy: Copy,
  path: string,
  bundle: BundledFiles,
  workspace: string | null,
  place: Host,
): EncodedBatch {
  const { agent } = copy
  const blobs = bundle.blobs.get(agent.id) as Map<string, Buffer>
  const text = (content: Content): string => textIn(blobs, content)
  const bytes = ownRecords(copy, path, new BytesLog(agent.path, bundle.logs.get(agent.id) as Buffer))
  const log = new BytesLog(agent.path, bytes)
  const state = foldedLog(log)
  if (state.state === 'terminated') throw refused(`${agent.path} is terminated`)
  checkBlobs(log, agent, blobs)
  const { bundle_id, home_id } = bundle.manifest
  const seed =
    state.provider_state === null
      ? undefined
      : conversationIn({ log, text, ids: [copy.id, agent.id] }, { continuesTurn: false })
  const records: NewRecord[] = [
    ...recordsToClose(state, 'copied'),
    { kind: 'session.imported', from: agent.id, home_id, bundle_id, ...place },
    ...(workspace === null ? [] : [{ kind: 'session.configured' as const, workspace }]),
    ...(seed === undefined ? [] : [{ kind: 'session.seeded' as const, from: copy.id, content: seed }]),
  ]
  const batch = encodeBatch(state, records)
  return { ...batch, bytes: Buffer.concat([bytes, batch.bytes]), blobs: [...blobs.values(), ...batch.blobs] }
}
