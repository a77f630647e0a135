/** Reads single records and texts of a session, without its lock. */

import { isBlob } from '../format.js'
import type { Content } from '../schema/types.js'
import type { Store } from '../storage/store.js'
import { recordAt } from './load.js'
import type { SessionRecord } from './records.js'
import type { Location } from './state.js'

/** The text of a message, from its line or its blob. */
export function readText(store: Store, agentId: string, content: Content): string {
  return isBlob(content) ? store.readBlob(agentId, content).toString('utf8') : content
}

/** The record at a place that the state names. Undefined if the log no longer exists. */
export function readRecord(store: Store, agentId: string, at: Location): SessionRecord | undefined {
  const log = store.openLog(agentId)
  if (log === undefined) return undefined
  try {
    return recordAt(log, at)
  } finally {
    log.close()
  }
}

/** The text of the message record at a place that the state names. Empty if the log no longer exists. */
export function readMessageText(store: Store, agentId: string, at: Location): string {
  const record = readRecord(store, agentId, at)
  return record === undefined ? '' : readRecordText(store, agentId, record)
}

/** The text of a message record, or the model's text before it refused. Empty for records of other kinds. */
export function readRecordText(store: Store, agentId: string, record: SessionRecord): string {
  if (record.kind === 'run.failed')
    return record.said === undefined ? '' : readText(store, agentId, record.said)
  return 'content' in record ? readText(store, agentId, record.content) : ''
}
