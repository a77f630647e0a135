/** `outbox`: the messages that must leave the machine, from the logs. Takes no lock and writes nothing. */
import { pendingEntries } from '../outbound/results.js'
import type { OutboxMessage, OutboxView } from '../schema/output-overview.js'
import { recordsOfKinds, withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import type { NewRecord, Place } from '../session/records.js'
import type { OutboundEntry, State } from '../session/state.js'
import type { LogReader, Store } from '../storage/store.js'

/** `isDropped`: those that were dropped, instead of those that are pending. */
export function viewOutbox(
  store: Store | undefined,
  { agentId, isDropped }: { agentId: string | undefined; isDropped: boolean },
): OutboxView {
  if (store === undefined) return { messages: [] }
  const ids = agentId === undefined ? store.agentIds() : [agentId]
  const messages = ids.flatMap((id) => messagesOf(store, id, isDropped))
  return { messages: messages.sort((a, b) => (a.at < b.at ? -1 : 1)) }
}

function messagesOf(store: Store, agentId: string, isDropped: boolean): OutboxMessage[] {
  const read = withAgent(store, agentId, ({ state }, { log }) =>
    isDropped || state.outbound !== undefined ? { state, records: outboundRecords(log, state) } : undefined,
  )
  if (read === undefined) return []
  const { state, records } = read
  const { queued, dropped, failed } = records
  const view = (id: string): OutboxMessage | undefined => {
    const record = queued.get(id)
    return record && viewOf(store, state, record, failed.get(id)?.why ?? null)
  }
  if (isDropped)
    return [...dropped.values()].flatMap(({ outbound_id, reason, why }) => {
      const message = view(outbound_id)
      return message === undefined ? [] : [{ ...message, state: 'dropped', reason, why: why ?? message.why }]
    })
  return pendingEntries(store, state).flatMap((entry) => {
    const message = view(entry.outbound_id)
    return message === undefined ? [] : [{ ...message, ...progressOf(entry) }]
  })
}

function progressOf({ attempts, not_before }: OutboundEntry): Partial<OutboxMessage> {
  return { state: attempts === 0 ? 'pending' : 'failed', attempts, next_at: not_before }
}

type Kept<K extends 'outbound.queued' | 'outbound.failed' | 'outbound.dropped'> = NewRecord<K> & Place

function outboundRecords(log: LogReader, { log_bytes }: State) {
  const queued = new Map<string, Kept<'outbound.queued'>>()
  const failed = new Map<string, Kept<'outbound.failed'>>()
  const dropped = new Map<string, Kept<'outbound.dropped'>>()
  const kinds = ['outbound.queued', 'outbound.failed', 'outbound.dropped'] as const
  for (const { record } of recordsOfKinds(log, { seq: 1, offset: 0 }, log_bytes, kinds)) {
    if (record.kind === 'outbound.queued') queued.set(record.outbound_id, record)
    else if (record.kind === 'outbound.failed') failed.set(record.outbound_id, record)
    else if (record.kind === 'outbound.dropped') dropped.set(record.outbound_id, record)
  }
  return { queued, failed, dropped }
}

function viewOf(
  store: Store,
  { id, path }: State,
  record: Kept<'outbound.queued'>,
  why: string | null,
): OutboxMessage {
  const { outbound_id, target, event, run_id = null, expires_at = null, ts } = record
  return {
    ...{ outbound_id, agent: id, path, target, event, run_id, state: 'pending', attempts: 0 },
    ...{ at: ts, next_at: null, expires_at, reason: null, why, text: readText(store, id, record.content) },
  }
}
