/**
 * `import` of a move: the agents of the bundle live in this home from now on, with their ids.
 *
 * Everything is checked before the first change. Then each agent is stored as the bundle has it, closed by the move; with
 * `--hold` the command ends there. Then the highest agent is opened, and with it all others (`arrive.ts`).
 *
 * On disk after a crash: some agents, closed, or the highest one open and the others perhaps still closed. The same command does
 * the rest. An agent that left this home by an earlier move comes back: its log is replaced by the longer one of the bundle.
 */
import { arriveAlone, hasArrivedBy, messagesOf } from '../../dispatch/arrive.js'
import type { Context } from '../../dispatch/context.js'
import { needsVisit } from '../../dispatch/pending-visits.js'
import { restartTicks } from '../../dispatch/ticker.js'
import { viewAgent } from '../../dispatch/view.js'
import { SubstratError, shellWord } from '../../errors.js'
import type { BundledFiles } from '../../files/bundle.js'
import { refused } from '../../files/tar.js'
import { isDirectory } from '../../files/user-files.js'
import { OPERATOR } from '../../format.js'
import { decodeMessage } from '../../mail/message.js'
import type { BundledAgent } from '../../schema/bundle.js'
import type { ImportedAgents } from '../../schema/output-home.js'
import type { EncodedBatch } from '../../session/batch.js'
import { busyError } from '../../session/busy.js'
import { openForRead, recordAt, recordsFrom } from '../../session/load.js'
import { snapshotOf } from '../../session/snapshot.js'
import type { State } from '../../session/state.js'
import { howEnded } from '../../session/status.js'
import { BytesLog } from '../../storage/store.js'
import { createAgent } from '../../tree/create-agent.js'
import { checkName } from '../../tree/names.js'
import { confirmForeign } from './foreign-bundle.js'
import {
  besideOthers,
  checkBlobs,
  foldedLog,
  type ImportRequest,
  importedElsewhere,
  noWorkspace,
  ownRecords,
  textIn,
} from './imported-log.js'

interface Arrival {
  agent: BundledAgent
  /** As the agent is stored, closed. */
  batch: EncodedBatch
  /** The agent in this home. */
  known: State | undefined
  /** Whether this move has already opened it here, even if it was removed since. */
  isOpen: boolean
}

export async function importMove(
  ctx: Context,
  request: ImportRequest,
  bundle: BundledFiles,
): Promise<ImportedAgents> {
  const { store } = ctx
  const arrivals = arrivalsOf(ctx, request, bundle)
  const isOver = arrivals.every(({ isOpen }) => isOpen)
  const isGone = !arrivals.some(({ known }) => known)
  if (isOver && (isGone || !request.usesExisting)) throw importedBefore(arrivals)
  const states = arrivals.flatMap(({ isOpen, batch }) => (isOpen ? [] : [batch.state]))
  if (states.length > 0) await confirmForeign(store, bundle, states, request)
  for (const arrival of arrivals) if (!arrival.isOpen) await storeClosed(ctx, arrival)
  if (states.some(({ schedules }) => schedules !== undefined)) restartTicks(store)
  if (!request.isHeld)
    for (const { agent, isOpen } of arrivals) if (!isOpen) await arriveAlone(ctx, agent.id, request.workspace)
  return {
    agents: arrivals.flatMap(({ agent }) => {
      // An agent of this move that was removed here does not come again.
      const state = openForRead(store, agent.id)?.state
      return state === undefined ? [] : [viewAgent(store, state)]
    }),
    created: arrivals.filter(({ isOpen }) => !isOpen).length,
  }
}

function arrivalsOf(ctx: Context, { name, workspace }: ImportRequest, bundle: BundledFiles): Arrival[] {
  const { manifest } = bundle
  const top = manifest.agents[0] as BundledAgent
  const paths = new Map<string, string>()
  return manifest.agents.map((agent) => {
    const ownName = agent === top && name !== null ? checkName(name) : agent.name
    const above = agent.parent === null ? '' : `${paths.get(agent.parent)}/`
    const path = `${above}${ownName ?? agent.id}`
    paths.set(agent.id, path)
    const place = {
      id: agent.id,
      name: ownName === null ? null : checkName(ownName),
      parent: agent.parent,
      agent,
    }
    const blobs = bundle.blobs.get(agent.id) as Map<string, Buffer>
    const bytes = ownRecords(place, path, new BytesLog(agent.path, bundle.logs.get(agent.id) as Buffer))
    const log = new BytesLog(agent.path, bytes)
    const state = foldedLog(log)
    checkBlobs(log, agent, blobs)
    checkMove(log, state, bundle, top.id)
    if (!isDirectory(workspace ?? state.workspace)) throw noWorkspace(agent, state)
    const known = openForRead(ctx.store, agent.id)?.state
    const isOpen = hasArrivedBy(ctx.store, agent.id, manifest.move_id as string)
    if (known !== undefined && !isOpen) checkKnown(ctx, known, log, bundle)
    return { agent, known, isOpen, batch: { bytes, records: [], blobs: [...blobs.values()], state } }
  })
}

/**
 * The log ends with the move that the manifest names, and the mail in it can be delivered. A request comes from the operator or an
 * agent that moves too: `export` answers the others, and a reply to them would reach an agent of this home that asked nothing.
 */
function checkMove(
  log: BytesLog,
  { id, path, moved }: State,
  { manifest, blobs }: BundledFiles,
  topId: string,
): void {
  const { move_id, home_id } = manifest
  const isOfMove = moved?.move_id === move_id && moved?.home_id === home_id
  if (moved === undefined || !isOfMove || moved.top !== (id === topId ? null : topId))
    throw refused(`the log of ${path} does not end with its move`)
  const record = recordAt(log, moved.at)
  if (record.kind !== 'session.moved') throw refused(`the log of ${path} does not end with its move`)
  let messages: unknown
  try {
    messages = messagesOf(textIn(blobs.get(id) as Map<string, Buffer>, record.content))
  } catch {
    throw refused(`the mail of ${path} is not JSON`)
  }
  const ids = Array.isArray(messages) ? messages.map((message) => message?.message_id) : []
  const isWhole = (line: { message_id: string }): boolean => {
    const message = decodeMessage({ object: { ...line } }, line.message_id)
    if (message?.to !== id) return false
    const { kind, from } = message
    return kind !== 'request' || from === OPERATOR || manifest.agents.some((agent) => agent.id === from)
  }
  if (JSON.stringify(ids) !== JSON.stringify(moved.messages) || new Set(ids).size !== ids.length)
    throw refused(`the mail of ${path} is not the mail that its log names`)
  if (!(messages as { message_id: string }[]).every(isWhole)) throw refused(`a message to ${path} is invalid`)
}

/** An agent of this home may only be replaced if it has left it, and comes back with the move that took it away in its log. */
function checkKnown({ store }: Context, known: State, log: BytesLog, { manifest }: BundledFiles): void {
  const { id, path, moved } = known
  const facts = { agent_id: id }
  const own = store.homeId
  if (moved === undefined) {
    const how = known.state === 'terminated' ? 'is terminated in this home' : 'lives in this home'
    throw new SubstratError('SESSION_STATE', `${path} was not imported: agent ${id} ${how}`, {
      hint: 'a copy has an id of its own: export it without --move',
      facts,
    })
  }
  // A closed copy from an import that did not end.
  if (moved.home_id !== own) return
  if (moved.move_id === manifest.move_id)
    throw new SubstratError('SESSION_STATE', `${path} left this home with this move`, {
      hint: `take it back: substrat import --reclaim ${id}`,
      facts,
    })
  for (const { record } of recordsFrom(log, { seq: 1, offset: 0 }))
    if (record.kind === 'session.arrived' && record.move_id === moved.move_id) return
  throw new SubstratError('SESSION_STATE', `${path} ${howEnded(known)}, and this bundle is not from there`, {
    hint: 'import the bundle of its latest move',
    facts,
  })
}

function importedBefore(arrivals: Arrival[]): SubstratError {
  const { known, batch } = arrivals[0] as Arrival
  const { path, id } = known ?? batch.state
  const isRemoved = known === undefined
  return new SubstratError(
    'SESSION_STATE',
    `this move has already ended in this home: ${path} (${id})${isRemoved ? ' was removed since' : ''}`,
    {
      hint: isRemoved
        ? `take it back in its old home and move it again: substrat import --reclaim ${id}`
        : `see it: substrat show ${shellWord(id)}`,
      facts: { agent_id: id },
    },
  )
}

async function storeClosed(ctx: Context, { agent, known, batch }: Arrival): Promise<void> {
  const { store, command, bounds } = ctx
  const { id, name, parent } = batch.state
  if (known === undefined) {
    const session = await besideOthers(id, () =>
      createAgent(store, { id, name, parent, command, isClosed: true, encode: () => batch }, bounds),
    )
    await session.close((state) => needsVisit(store, state))
    return
  }
  if (known.moved?.move_id === batch.state.moved?.move_id && known.path === batch.state.path) return
  const held = await store.hold(agent.id, { command, waitMs: bounds.waitMs })
  if (held === undefined) throw busyError(store, agent.id)
  try {
    // Another import may have opened the agent before this one held it.
    const now = openForRead(store, agent.id)?.state
    if (now?.last_seq !== known.last_seq || now.moved?.move_id !== known.moved?.move_id)
      throw importedElsewhere(agent.id)
    for (const blob of batch.blobs) store.upkeep.writeBlob(agent.id, blob)
    store.upkeep.replaceLog(agent.id, batch.bytes, snapshotOf(batch.state))
    store.visits.mark(agent.id)
  } finally {
    await held.release()
  }
}
