/**
 * The lease of an agent in files. Every change to the agent's log and snapshot goes through it, so a process that lost the lock
 * changes nothing.
 *
 * On disk after a crash in `append`: some of the blobs, or a part of the batch. A blob is harmless without the record that names
 * it, and the next holder cuts an incomplete batch, so after recovery a batch is there whole or not at all.
 */
import { assert } from '../errors.js'
import type { HomeFormat } from './home.js'
import type { KernelLease } from './locks/lease.js'
import { writeBlob } from './log/blobs.js'
import type { Unframed } from './log/frame.js'
import type { LogWriter } from './log/log.js'
import type { LogReader } from './log/reader.js'
import type { Logs } from './logs.js'
import type { Mailboxes } from './mailboxes.js'
import type { Markers } from './markers.js'
import type { StopRequest } from './parts.js'
import type { HomePaths } from './paths.js'
import type { RequestFiles } from './requests.js'
import type { Snapshots } from './snapshots.js'
import type { Batch, BlobReference, Lease, Rest, Tail } from './store.js'

/** The parts of the store that a lease uses. */
export interface LeaseParts {
  paths: HomePaths
  homeFormat: HomeFormat
  logs: Logs
  snapshots: Snapshots
  mail: Mailboxes
  requests: RequestFiles
  visits: Markers
}

export class AgentLease implements Lease {
  private knownRequests: StopRequest[] | undefined
  private lastBatchId: string | undefined

  constructor(
    readonly agentId: string,
    private readonly parts: LeaseParts,
    private readonly lock: KernelLease,
    private readonly writer: LogWriter,
    /** The snapshot as it was before the log was opened. */
    readonly snapshot: Unframed,
  ) {}

  get log(): LogReader {
    return this.writer
  }

  /** As of the first use, which comes before any turn. */
  get requests(): StopRequest[] {
    this.knownRequests ??= this.parts.requests.requestsTo(this.agentId)
    return this.knownRequests
  }

  get mailIds(): string[] {
    return this.parts.mail.ids(this.agentId)
  }

  assertHeld(): void {
    this.lock.assertHeld()
  }

  repair({ synced, end, openRunId }: Tail): void {
    this.lock.assertHeld()
    const { agentId, writer, parts } = this
    const size = writer.size()
    if (end < size) parts.logs.keepCutBytes(agentId, end, writer.read(end, size))
    if (size > synced) writer.resyncTail(synced, end)
    for (const { runId, verb } of this.requests)
      if (runId !== openRunId) parts.requests.remove(agentId, runId, verb)
  }

  writeBlob(content: Buffer): BlobReference {
    this.lock.assertHeld()
    return writeBlob(this.parts.paths.agent(this.agentId), content)
  }

  append({ id, offset, bytes, blobs, isUpgrade }: Batch): void {
    this.lock.assertHeld()
    if (id === this.lastBatchId) return
    assert(offset === this.writer.size(), `a batch begins at the end of its log: ${this.agentId}`)
    if (isUpgrade) this.parts.homeFormat.raise()
    for (const blob of blobs) writeBlob(this.parts.paths.agent(this.agentId), blob)
    // Syncing blobs takes time, in which the lock may be lost.
    if (blobs.length > 0) this.lock.assertHeld()
    this.writer.append(bytes)
    this.lastBatchId = id
    // Only the holder may acknowledge a record. The lock may have been lost during the append.
    this.lock.assertHeld()
  }

  /** A message counts as mail from the moment its sender begins to store it. */
  async rest({ snapshot, needsVisit }: Rest): Promise<void> {
    this.lock.assertHeld()
    if (snapshot !== undefined) this.parts.snapshots.write(this.agentId, snapshot)
    this.parts.visits.unmark(
      this.agentId,
      () => needsVisit || this.parts.mail.holdsAny(this.agentId),
      () => this.removeRequests(),
    )
    await this.release()
  }

  /** An agent that needs no visit has no open run. No later visit may come to remove the requests to its last one. */
  private removeRequests(): void {
    const { agentId, parts } = this
    for (const { runId, verb } of parts.requests.requestsTo(agentId))
      parts.requests.remove(agentId, runId, verb)
  }

  release(): Promise<void> {
    return this.lock.release()
  }
}
