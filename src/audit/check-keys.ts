/** The key index of an agent: that it checks, that it is of this log, and that no key of the log is new to it. */
import { isIndexOfLog, keyRetentionAt } from '../session/key-index.js'
import { placesInLog } from '../session/key-places.js'
import type { State } from '../session/state.js'
import type { FileStore, KeyFile, LogReader } from '../storage/store.js'
import type { AddFinding } from './finding.js'

export interface OpenKeys {
  isThere: boolean
  /** Undefined also where its head does not check. To be closed. */
  index: KeyFile | undefined
}

/** To be asked before the log is opened: a writer that goes on meanwhile must not seem to have written ahead of it. */
export function openKeys(store: FileStore, agentId: string): OpenKeys {
  const isThere = store.keys.isThere(agentId)
  return { isThere, index: isThere ? store.keys.open(agentId) : undefined }
}

/** One that is missing is no finding: it costs the next message with a key some time. Says whether it may be gone by. */
export function checkKeysQuickly({ isThere, index }: OpenKeys, log: LogReader, found: AddFinding): boolean {
  if (!isThere) return false
  if (index === undefined) found('a key index is intact', 'its head is damaged, or its size is wrong')
  else if (!isIndexOfLog(log, index))
    found('a key index is intact', 'the last record that it knows is not in the log')
  else return true
  return false
}

export function checkKeys(
  store: FileStore,
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
    found('a key index is intact', 'the checksum of a page is wrong')
    return
  }
  const [first] = differences
  if (first === undefined) return
  const says = first.found === undefined ? 'does not have it' : `leads to record ${first.found.seq}`
  found('the key index has all keys of the log', `the key of record ${first.expected.seq}: the index ${says}`)
}
