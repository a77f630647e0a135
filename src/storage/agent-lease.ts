/**
 * The exclusive right to write one agent, with the agent as it was when the right was taken. Every change to the agent's log and
 * snapshot goes through it, so a process that lost the right changes nothing.
 *
 * On disk after a crash in `append`: some of the blobs, or a part of the batch. A blob is harmless without the record that names
 * it, and the next holder cuts an incomplete batch, so after recovery a batch is there whole or not at all.
 */
import type { HomeFormat } from './home.js'
import type { Lease } from './locks/lease.js'
import { type BlobReference, writeBlob } from './log/blobs.js'
import type { Unframed } from './log/frame.js'
import type { LogWriter } from './log/log.js'
import type { LogReader } from './log/reader.js'
import type { Logs } from './logs.js'
import type { Mailboxes } from './mailboxes.js'
import type { Markers } from './markers.js'
import type { HomePaths } from './paths.js'
import type { Snapshots } from './snapshots.js'

/** The records of one append, as the session encodes them. */
export interface Batch {
  /** Lines of the log. */
  bytes: Buffer
  /** Content that the lines name by hash. */
  blobs: Buffer[]
  /** Whether these are the first records of the current format in a log of an earlier format. */
  isUpgrade: boolean
}

/** The end of a log that a dead writer left. */
export interface Tail {
  /** Every byte before it is synced. */
  synced: number
  /** The end of the last whole batch. The bytes after it were never acknowledged. */
  end: number
}

/** How the holder leaves an agent. */
export interface Rest {
  /** Undefined if the snapshot on disk is current. */
  snapshot: object | undefined
  /** Whether the agent needs a visit, also if it has no mail. */
  isOwed: boolean
}

/** The parts of the store that a lease uses. */
export interface LeaseParts {
  paths: HomePaths
  format: HomeFormat
  logs: Logs
  snapshots: Snapshots
  mail: Mailboxes
  markers: Markers
}

export class AgentLease {
  constructor(
    readonly agentId: string,
    private readonly parts: LeaseParts,
    private readonly lock: Lease,
    private readonly writer: LogWriter,
    /** The snapshot as it was before the log was opened. */
    readonly snapshot: Unframed,
  ) {}

  get log(): LogReader {
    return this.writer
  }

  /** Fence: throws LOCKED if the right was lost, and from then on always. */
  assertHeld(): void {
    this.lock.assertHeld()
  }

  /** Cuts the bytes after the last whole batch, and makes the others durable (durability rules 4 and 5). */
  repairTail({ synced, end }: Tail): void {
    const size = this.writer.size()
    if (end < size) this.parts.logs.keepCutBytes(this.agentId, end, this.writer.read(end, size))
    this.lock.assertHeld()
    if (size > synced) this.writer.resyncTail(synced, end)
  }

  /** Stores content that the next batch will name. Durable on return. */
  writeBlob(content: Buffer): BlobReference {
    return writeBlob(this.parts.paths.agent(this.agentId), content)
  }

  /**
   * Durable on return, with its blobs. STORAGE_FAILED means that the log is unchanged, or that its tail will be cut; SYNC_FAILED
   * and LOCKED mean that the outcome is unknown.
   */
  append({ bytes, blobs, isUpgrade }: Batch): void {
    this.lock.assertHeld()
    if (isUpgrade) this.parts.format.raise()
    for (const blob of blobs) this.writeBlob(blob)
    // Syncing blobs takes time, in which the lock may be lost.
    if (blobs.length > 0) this.lock.assertHeld()
    this.writer.append(bytes)
    // Only the holder may acknowledge a record. The lock may have been lost during the append.
    this.lock.assertHeld()
  }

  /**
   * Writes the snapshot, and removes the marker unless the agent is owed a visit or has mail. A message whose sender has only
   * begun to store it counts as mail. Does not release.
   */
  rest({ snapshot, isOwed }: Rest): void {
    if (snapshot !== undefined) this.parts.snapshots.write(this.agentId, snapshot)
    this.parts.markers.unmark(this.agentId, () => isOwed || this.parts.mail.holdsAny(this.agentId))
  }

  release(): Promise<void> {
    return this.lock.release()
  }
}
