/** Checks facts that the state no longer has, record by record: each delivery and each blob of a complete log. */
import { SubstratError } from '../errors.js'
import type { Content } from '../schema/types.js'
import { blobsIn } from '../session/blobs-in.js'
import { recordsFrom } from '../session/load.js'
import type { LogReader, Store } from '../storage/store.js'
import type { AddFinding } from './finding.js'

export function checkRecords(store: Store, agentId: string, log: LogReader, found: AddFinding): void {
  const delivered = new Set<string>()
  const named = new Set<string>()
  for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
    if (record.kind === 'mail.delivered' || record.kind.startsWith('agent.')) {
      const { message_id } = record as { message_id: string }
      if (delivered.has(message_id))
        found('a message is delivered or applied at most once', `message ${message_id} was delivered twice`)
      delivered.add(message_id)
    }
    for (const reference of blobsIn(record)) {
      if (named.has(reference.blob)) continue
      named.add(reference.blob)
      checkBlob(store, agentId, reference, `record ${record.seq}`, found)
    }
  }
  const others = store.upkeep.blobNames(agentId).filter((name) => !named.has(name))
  // A holder writes a blob before the record that names it.
  if (others.length === 0 || store.isHeld(agentId)) return
  for (const name of others) {
    const path = store.upkeep.blobPath(agentId, name)
    found('a blob is named by a record', `no record names ${path}`, path)
  }
}

function checkBlob(
  store: Store,
  agentId: string,
  reference: Exclude<Content, string>,
  record: string,
  found: AddFinding,
): void {
  const path = store.upkeep.blobPath(agentId, reference.blob)
  try {
    const { length } = store.readBlob(agentId, reference)
    if (length !== reference.bytes)
      found(
        'a blob named by a record exists and is intact',
        `${path} has ${length} bytes, but ${record} expects ${reference.bytes}`,
        path,
      )
  } catch (error) {
    if (!(error instanceof SubstratError)) throw error
    found('a blob named by a record exists and is intact', `${error.message} (named by ${record})`, path)
  }
}
