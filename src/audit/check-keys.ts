/** Checks an agent's key index: it is intact, it belongs to this log, and it has every key of the log. */
import { isIndexOfLog, keyRetentionAt } from '../session/key-index.js'
import { placesInLog } from '../session/key-places.js'
import type { State } from '../session/state.js'
import type { KeyIndex, LogReader, Store } from '../storage/store.js'
import type { AddFinding } from './finding.js'

export interface OpenKeys {
  isThere: boolean
  /** Undefined if the file is missing or its header is damaged. The caller closes it. */
  index: KeyIndex | undefined
}

/** Call it before opening the log. Otherwise a writer could extend both in between, and the index would seem ahead of the log. */
export function openKeys(store: Store, agentId: string): OpenKeys {
  const isThere = store.keys.isThere(agentId)
  return { isThere, index: isThere ? store.keys.open(agentId) : undefined }
}

/**
 * Returns whether the index can be used. A missing index is not a finding: the next message with a key rebuilds it, which
 * only takes time.
 */
export function checkKeysQuickly({ isThere, index }: OpenKeys, log: LogReader, found: AddFinding): boolean {
  if (!isThere) return false
  if (index === undefined) found('a key index is intact', 'the header or the size of the key index is wrong')
  else if (!isIndexOfLog(log, index))
    found('a key index is intact', 'the last record of the key index is not in the log')
  else return true
  return false
}

export function checkKeys(
  store: Store,
  seen: OpenKeys,
  log: LogReader,
  state: State,
  found: AddFinding,
): void {
  const { index } = seen
  if (!checkKeysQuickly(seen, log, found) || index === undefined) return
  const places = placesInLog(store, state.id, log, index.end.log_bytes)
  const differences = index.differences(places, keyRetentionAt(state))
  if (differences === undefined) {
    found('a key index is intact', 'the checksum of a page of the key index is wrong')
    return
  }
  const [first] = differences
  if (first === undefined) return
  const key = `the key of record ${first.expected.seq}`
  found(
    'the key index has all keys of the log',
    first.found === undefined
      ? `${key} is missing from the key index`
      : `${key} points to record ${first.found.seq} in the key index`,
  )
}
