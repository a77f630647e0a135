/**
 * Folds the messages of a channel.
 *
 * Invariants: a message of the platform is received once. It is pending until a record says that it was passed on. The cursor is
 * in the batch of the messages before it, so a crash loses none and receives none twice.
 */
import { SessionStateError } from '../../errors.js'
import { limits } from '../../limits.js'
import type { NewRecord } from '../records.js'
import type { ChannelState, Location, State } from '../state.js'

const NEW: ChannelState = { cursor: null, threads: [], pending: [], received: [] }

export function channelReceived(next: State, record: NewRecord<'channel.received'>, at: Location): State {
  const channel = next.channel ?? NEW
  const { message_id, remote_id, thread, sender, agent_id, context } = record
  if (channel.received.includes(message_id))
    throw new SessionStateError(`message ${message_id} of the channel is received twice`)
  const { channelIdsKeptMin: keptMin } = limits
  const known = channel.received.length < 2 * keptMin ? channel.received : channel.received.slice(-keptMin)
  const before = channel.threads.find((entry) => entry.agent_id === agent_id)
  const latest = { remote_id, sender, ...(context === undefined ? {} : { context }) }
  const entry = { thread, agent_id, latest, announced: before?.announced ?? 0 }
  const threads =
    before === undefined
      ? [...channel.threads, entry]
      : channel.threads.map((each) => (each === before ? entry : each))
  const pending = [...channel.pending, { message_id, agent_id, at }]
  return { ...next, channel: { ...channel, threads, pending, received: [...known, message_id] } }
}

export function channelCursor(next: State, { cursor }: NewRecord<'channel.cursor'>): State {
  return { ...next, channel: { ...(next.channel ?? NEW), cursor } }
}

export function channelHandled(next: State, { message_id }: NewRecord<'channel.handled'>): State {
  const channel = next.channel ?? NEW
  const pending = channel.pending.filter((entry) => entry.message_id !== message_id)
  if (pending.length === channel.pending.length)
    throw new SessionStateError(`message ${message_id} of the channel is not pending`)
  return { ...next, channel: { ...channel, pending } }
}

export function channelAnnounced(
  next: State,
  { agent_id, since_seq }: NewRecord<'channel.announced'>,
): State {
  const channel = next.channel ?? NEW
  const threads = channel.threads.map((entry) =>
    entry.agent_id === agent_id ? { ...entry, announced: since_seq } : entry,
  )
  return { ...next, channel: { ...channel, threads } }
}
