/**
 * `export --move`: an agent, or an agent and all below it, leaves this home.
 *
 * The agents are held from the first check to the end. The bundle is made with the records that will close their logs, and is
 * delivered before the first of these records is written: to a file, or to the other home, where the agents are then closed too.
 * The record of the highest agent comes last and decides (`arrive.ts`). From then on the bundle can be made again from the logs.
 *
 * On disk after a crash:
 * - before that record: the whole tree is here. An agent that was closed already is opened by the next visit to it. The bundle
 *   belongs to no move. The same command makes another one.
 * - after it: the whole tree is gone. The same command delivers the same bundle.
 */
import { arriveAlone } from '../../dispatch/arrive.js'
import { refuseInTool } from '../../dispatch/caller.js'
import type { Context } from '../../dispatch/context.js'
import { readState } from '../../dispatch/read-state.js'
import { viewAgent } from '../../dispatch/view.js'
import { SubstratError, shellWord } from '../../errors.js'
import { OPERATOR } from '../../format.js'
import { limits } from '../../limits.js'
import { messagesIn } from '../../mail/stored-messages.js'
import { stopKeptServerOrThrow } from '../../provider/kept-server.js'
import type { AgentView } from '../../schema/output.js'
import type { EncodedBatch } from '../../session/batch.js'
import { recordAt, recordsFrom, withAgent } from '../../session/load.js'
import type { NewRecord } from '../../session/records.js'
import type { Session } from '../../session/session.js'
import type { State } from '../../session/state.js'
import { howEnded, isUnfinished } from '../../session/status.js'
import { sha256Hex } from '../../start/hash.js'
import { randomUuid } from '../../start/random.js'
import type { Right, Store } from '../../storage/store.js'
import { childrenOf, damagedChild, livingChildren, lockChildren } from '../../tree/children.js'
import { stopAndVisit } from '../stop-agent.js'
import { type AgentFiles, filesOf, packed } from './export-bundle.js'

export interface MoveRequest {
  agentId: string
  isTree: boolean
  /** Where the agents go: an absolute path, or the URL of another home. */
  to: string
  /** Durable on return. Called before the agents are closed, and again if the command is repeated. */
  deliver(bundle: Buffer): Promise<void>
}

export interface Moved {
  moveId: string
  bundle: Buffer
  agents: AgentView[]
  /** An earlier command has closed the agents. */
  isRepeated: boolean
}

export async function moveAgents(ctx: Context, request: MoveRequest): Promise<Moved> {
  refuseInTool(ctx.caller, 'move agents')
  const top = readState(ctx.store, request.agentId)
  if (top.moved !== undefined) return movedBefore(ctx.store, top, request)
  // The errors to senders that stay must not start turns before every agent is closed.
  const paused = ctx.deliveries.contextUnder({ isPaused: true })
  await openLeftOver(paused, top)
  const states = request.isTree ? treeOf(ctx.store, top, ({ state }) => state !== 'terminated') : [top]
  let closed: Pick<Moved, 'moveId' | 'bundle'> | undefined
  const held: Session[] = []
  const holdNext = async (): Promise<void> => {
    const next = states[held.length]
    if (next === undefined) closed = await close(paused, held, request)
    else
      await stopAndVisit(paused, next.id, 'suspend', async (session) => {
        held.push(session)
        try {
          await holdNext()
        } catch (error) {
          // Another attempt takes the agents again, from the first.
          held.length = states.indexOf(next)
          throw error
        }
      })
  }
  await holdNext()
  const agents = states.map(({ id }) => viewAgent(ctx.store, readState(ctx.store, id)))
  return { ...(closed as NonNullable<typeof closed>), agents, isRepeated: false }
}

/** Opens the agents that an unfinished move of this tree has closed. */
async function openLeftOver(ctx: Context, top: State): Promise<void> {
  for (const { id } of treeOf(ctx.store, top, ({ moved }) => moved?.top === top.id))
    if (id !== top.id) await arriveAlone(ctx, id, null)
}

/** The agent and those below it that match, each parent before its children. */
export function treeOf(store: Store, top: State, isIn: (state: State) => boolean): State[] {
  const seen = new Set([top.id])
  const below = (parent: State): State[] =>
    childrenOf(store, parent.id)
      .filter((child) => isIn(child) && !seen.has(child.id) && seen.add(child.id))
      .flatMap((child) => [child, ...below(child)])
  return [top, ...below(top)]
}

/** All agents are held. Returns the delivered bundle. */
async function close(
  ctx: Context,
  held: Session[],
  request: MoveRequest,
): Promise<Pick<Moved, 'moveId' | 'bundle'>> {
  const { store, command } = ctx
  const moveId = randomUuid()
  for (const session of held) await prepare(ctx, session)
  const ids = held.map(({ id }) => id)
  for (const { state } of held) checkNoOtherChild(store, state, ids)
  const batches = held.map((session) => session.encode([movedRecordOf(session, moveId, ids, request.to)]))
  const bundle = packed(
    store,
    { bundle_id: moveId, move_id: moveId, exported_at: timeOf(batches[0] as EncodedBatch) },
    held.map((session, index) => closedAgent(session, batches[index] as EncodedBatch)),
  )
  await request.deliver(bundle)
  const locks: Right[] = []
  try {
    // Until the parents are closed, no agent may be spawned below them.
    for (const { id } of held) locks.push((await lockChildren(store, id, command)).lock)
    for (const { state } of held) checkNoOtherChild(store, state, ids)
    for (const [index, session] of [...held.entries()].reverse())
      session.appendEncoded(batches[index] as EncodedBatch)
  } finally {
    for (const lock of locks) await lock.release()
  }
  return { moveId, bundle }
}

async function prepare(ctx: Context, session: Session): Promise<void> {
  await stopKeptServerOrThrow(session, (text) => ctx.reporter.note(text))
  const { state } = session
  if (state.state === 'terminated') throw endedError(state)
  if (state.run?.status !== 'open' || state.provider_state === null) return
  throw new SubstratError(
    'SESSION_STATE',
    `${state.path} waits in a session of ${state.provider_name}, which cannot move`,
    {
      hint: `decide first, or stop the turn: substrat cancel ${shellWord(state.path)}`,
      facts: { agent_id: state.id },
    },
  )
}

function movedRecordOf(session: Session, move_id: string, ids: string[], to: string): NewRecord {
  const { store, state, id } = session
  const stays = (from: string): boolean => from !== OPERATOR && !ids.includes(from)
  session.forgetMailIds()
  const along = [...messagesIn(store, id, session.mailIds)].filter(
    ({ message_id, kind, from }) =>
      !state.delivered.includes(message_id) && !(kind === 'request' && stays(from)),
  )
  if (along.reduce((sum, { content }) => sum + content.length, 0) > limits.bundleBytesMax / 4)
    throw new SubstratError('USAGE', `the pending mail of ${state.path} is too large for a bundle`, {
      hint: `deliver it first: substrat deliver ${shellWord(state.path)}`,
      facts: { agent_id: id },
    })
  const open = isUnfinished(state) ? (state.run?.requests ?? []) : []
  return {
    kind: 'session.moved',
    move_id,
    home_id: store.homeId,
    to,
    ...(id === ids[0] ? {} : { top: ids[0] as string }),
    messages: along.map(({ message_id }) => message_id),
    content: JSON.stringify(along),
    answered: open.filter(({ from }) => stays(from)),
  }
}

/** The agent as the batch will close it. */
function closedAgent(session: Session, batch: EncodedBatch): { state: State; files: AgentFiles } {
  const { log, blobs } = filesOf(session.store, session.id)
  for (const blob of batch.blobs) blobs.set(sha256Hex(blob), blob)
  return { state: batch.state, files: { log: Buffer.concat([log, batch.bytes]), blobs } }
}

function timeOf({ records }: EncodedBatch): string {
  return (records[0] as { ts: string }).ts
}

function checkNoOtherChild(store: Store, { id, path }: State, ids: string[]): void {
  const damaged = damagedChild(store, id)
  if (damaged !== undefined) throw damaged
  const others = livingChildren(store, id).filter((child) => !ids.includes(child.id))
  if (others.length === 0) return
  throw new SubstratError(
    'HAS_CHILDREN',
    `${path} has children that would stay: ${others
      .map((child) => child.path)
      .slice(0, 5)
      .join(', ')}`,
    {
      hint: 'move them too, with --tree; or terminate them first',
      facts: { agent_id: id, children: others.map((child) => child.id) },
    },
  )
}

/** Delivers the bundle of a move whose record is in the log, perhaps after a kill. */
async function movedBefore(store: Store, top: State, request: MoveRequest): Promise<Moved> {
  const { move_id, to, home_id } = top.moved as NonNullable<State['moved']>
  const isSamePlace = to === request.to || (!isUrl(to) && !isUrl(request.to))
  if (!isSamePlace || home_id !== store.homeId || top.moved?.top !== null) throw endedError(top)
  const agents = treeOf(store, top, ({ moved }) => moved?.move_id === move_id)
  const files = agents.map((state) => ({ state, files: closedFiles(store, state) }))
  const { at } = (files[0] as (typeof files)[number]).files
  const bundle = packed(store, { bundle_id: move_id, move_id, exported_at: at }, files)
  await request.deliver(bundle)
  return { moveId: move_id, bundle, agents: agents.map((state) => viewAgent(store, state)), isRepeated: true }
}

function isUrl(to: string): boolean {
  return to.startsWith('ssh://')
}

/** The log up to the batch that closed it. Later records say only which answers were sent. */
function closedFiles(store: Store, { id, moved }: State): AgentFiles & { at: string } {
  const { log, blobs } = filesOf(store, id)
  const from = (moved as NonNullable<State['moved']>).at
  const found = withAgent(store, id, (_, opened) => {
    const { batch, ts } = recordAt(opened.log, from)
    let end = from.end
    for (const logged of recordsFrom(opened.log, from))
      if (logged.record.batch[0] === batch[0]) end = logged.end
    return { end, at: ts }
  })
  const { end, at } = found as { end: number; at: string }
  return { log: log.subarray(0, end), blobs, at }
}

function endedError(state: State): SubstratError {
  const { path, id, moved } = state
  const hint =
    moved === undefined
      ? `export its conversation: substrat export ${id}`
      : moved.top === null
        ? `repeat that move to its end: substrat export --move ${isUrl(moved.to) ? '--to' : '--bundle'} ${shellWord(moved.to)} ${id}; or take the agent back: substrat import --reclaim ${id}`
        : `it moved with ${moved.top}`
  return new SubstratError('SESSION_STATE', `${path} ${howEnded(state)} and cannot be moved`, {
    hint,
    facts: { agent_id: id },
  })
}
