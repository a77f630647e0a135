/**
 * Opens a session that a move has closed: in the home to which it came, or in its own home, if it is taken back.
 *
 * Agents that move together are open or closed as their highest agent is. Its record decides for all of them: before a move
 * closes it, a crash leaves the whole tree here; before a move opens it, the whole tree there is closed. The next visit to
 * each of the others follows it (`followTop`).
 *
 * On disk after a crash: perhaps the messages that went along, in the inbox. The closed session has their ids among the
 * delivered ones, so a visit removes them, and the next attempt stores them again.
 */
import { SubstratError, shellWord } from '../errors.js'
import type { JsonObject } from '../format.js'
import { foldArrived } from '../session/fold/move.js'
import { openForRead, withAgent } from '../session/load.js'
import type { NewRecord } from '../session/records.js'
import { openForAppend, type Session } from '../session/session.js'
import type { Moved, State } from '../session/state.js'
import { howEnded, isUnfinished } from '../session/status.js'
import { placeHere } from '../session/workspace-host.js'
import type { Store } from '../storage/store.js'
import { lockChildren, lockRoots } from '../tree/children.js'
import { livingChild, livingRoot } from '../tree/names.js'
import type { Context } from './context.js'
import { needsVisit } from './pending-visits.js'
import { conversationText } from './seed.js'

interface ArriveOptions {
  command: string
  /** Absolute. Null: that of the original. */
  workspace: string | null
  note(text: string): void
}

/** Throws NAME_TAKEN, or SESSION_STATE if its parent is terminated. Does nothing if no move has closed the session. */
async function arrive(session: Session, options: ArriveOptions): Promise<void> {
  const { store, state } = session
  const { moved, parent, name, id } = state
  if (moved === undefined) return
  const records = arrivalOf(store, state, moved, options)
  const { index, lock } =
    parent === null
      ? await lockRoots(store, options.command)
      : await lockChildren(store, parent, options.command)
  try {
    checkPlace(store, state)
    const entry = name ?? (parent === null ? undefined : id)
    if (entry !== undefined && index.lookUp(entry) !== id) index.reserve(entry, id)
    for (const message of messagesAlong(session)) store.mail.put(id, message.message_id, message)
    session.forgetMailIds()
    session.append(records)
  } finally {
    await lock.release()
  }
  if (records.some(({ kind }) => kind === 'session.seeded'))
    options.note(
      `${state.path}: the session of ${state.provider_name} stays in the other home; the next turn begins a new one with the conversation`,
    )
}

/** Opens the agent in a visit of its own, after its highest agent is open. */
export async function arriveAlone(ctx: Context, agentId: string, workspace: string | null): Promise<State> {
  const { store, command, bounds, reporter } = ctx
  const session = await openForAppend(store, agentId, { command, waitMs: bounds.waitMs })
  try {
    await arrive(session, { command, workspace, note: (text) => reporter.note(text) })
  } catch (error) {
    await session.abandon()
    throw error
  }
  await session.close((state) => needsVisit(store, state))
  return session.state
}

/** A visit begins with this: a session that moved with a higher agent is open if that agent is. */
export async function followTop(
  session: Session,
  options: { command: string; waitMs: number; note(text: string): void },
): Promise<void> {
  const { store, state } = session
  const { moved, parent } = state
  if (moved === undefined || moved.top === null) return
  const top = openForRead(store, moved.top)?.state
  // The highest agent is terminated, also by this move, or was removed.
  if (top === undefined || top.state === 'terminated' || !isFollowed(store, top.id, moved)) return
  if (parent !== null && openForRead(store, parent)?.state.moved?.move_id === moved.move_id) {
    const above = await openForAppend(store, parent, options)
    try {
      await followTop(above, options)
    } finally {
      await above.close((each) => needsVisit(store, each))
    }
  }
  await arrive(session, { ...options, workspace: null })
  options.note(`${state.path} is open again: the move to ${moved.to} did not include it`)
}

/**
 * Whether that move was the latest of the agent, or was to take it from this home and never closed it. If the agent moved on,
 * the agents that it left behind stay closed.
 */
function isFollowed(store: Store, agentId: string, { move_id, home_id }: Moved): boolean {
  const moves = recordsIn(store, agentId, 'session.moved').map((record) => record.move_id)
  return moves.at(-1) === move_id || (home_id === store.homeId && !moves.includes(move_id))
}

/** The messages that the move takes along, as they were stored. */
export function messagesOf(content: string): { message_id: string }[] {
  return JSON.parse(content) as { message_id: string }[]
}

function messagesAlong(session: Session): { message_id: string }[] {
  const { moved } = session.state
  const record = moved === undefined ? undefined : session.recordAt(moved.at)
  return record?.kind === 'session.moved' ? messagesOf(session.text(record.content)) : []
}

function arrivalOf(store: Store, state: State, moved: Moved, { workspace }: ArriveOptions): NewRecord[] {
  const { move_id, home_id } = moved
  const arrived = { kind: 'session.arrived' as const, move_id, from_home: home_id, ...placeHere(store) }
  const open = foldArrived({ ...state }, arrived)
  const isNative = home_id !== store.homeId && state.provider_state !== null
  const seed = isNative ? conversationText(store, state.id, { continuesTurn: isUnfinished(open) }) : undefined
  return [
    arrived,
    ...(workspace === null ? [] : [{ kind: 'session.configured' as const, workspace }]),
    ...(isNative ? [{ kind: 'session.seeded' as const, from: state.id, content: seed ?? '' }] : []),
  ]
}

/** Call it with the lock of the names, so that the place stays free until the session is open. */
function checkPlace(store: Store, { id, name, parent, path }: State): void {
  const above = parent === null ? undefined : openForRead(store, parent)?.state
  if (parent !== null && (above === undefined || above.state === 'terminated')) {
    throw new SubstratError(
      'SESSION_STATE',
      `${path} cannot return: its parent ${above?.path ?? parent} ${above === undefined ? 'was removed' : howEnded(above)}`,
      { hint: `copy its conversation into a new agent: substrat fork ${id}`, facts: { agent_id: id } },
    )
  }
  const owner =
    name === null ? undefined : parent === null ? livingRoot(store, name) : livingChild(store, parent, name)
  if (owner === undefined || owner === id) return
  throw new SubstratError('NAME_TAKEN', `the name of ${path} is taken by agent ${owner}`, {
    hint: `choose another name: --name NAME; or terminate that agent: substrat terminate ${shellWord(owner)}`,
    facts: { agent_id: owner },
  })
}

/** Whether the move ended in this home: its agent came, and may have been removed since. */
export function hasArrivedBy(store: Store, agentId: string, moveId: string): boolean {
  return arrivedMoves(store, agentId).includes(moveId) || store.moves.has(agentId, moveId)
}

/** The moves that opened the agent, in this home or in an earlier one. Empty if there is no such agent. */
export function arrivedMoves(store: Store, agentId: string): string[] {
  return recordsIn(store, agentId, 'session.arrived').map(({ move_id }) => move_id as string)
}

function recordsIn(store: Store, agentId: string, kind: 'session.moved' | 'session.arrived'): JsonObject[] {
  const records = withAgent(store, agentId, ({ state }, { log }) => [
    ...log.recordsWith(`"kind":"${kind}"`, state.log_bytes),
  ])
  return (records ?? []).filter((record) => record.kind === kind)
}
