/**
 * One agent's session, open for append. The process holds the agent's lock. See `load.ts` for reading without a lock.
 *
 * Invariants: `state` is the fold of the durable records. A record is checked and folded before it is written, so a
 * refused transition leaves nothing on disk. Listeners receive a record only after it is synced.
 */

import { SubstratError } from '../errors.js'
import { FORMAT } from '../format.js'
import { limits } from '../limits.js'
import type { Content } from '../schema/types.js'
import { randomUuid } from '../start/random.js'
import type {
  Batch,
  BlobReference,
  IntactEnd,
  Lease,
  LeaseDeadline,
  Store,
  TakeOptions,
} from '../storage/store.js'
import { type EncodedBatch, encodeBatch } from './batch.js'
import { busyError } from './busy.js'
import { isKeyIndexDue, rebuildKeyIndex, writeKeyIndex } from './key-index.js'
import { load, recordAt, recordsFrom, recordsOfKinds, withUsage } from './load.js'
import { type OutboundRules, withOutbound } from './outbound.js'
import { readText } from './read.js'
import type { NewRecord, RecordKind, SessionRecord } from './records.js'
import { snapshotOf } from './snapshot.js'
import type { Location, State } from './state.js'

/** Takes the lock, marks the agent, repairs the log's tail. Throws LOCKED if another process holds the agent. */
export async function openForAppend(store: Store, agentId: string, options: TakeOptions): Promise<Session> {
  const lease = await store.take(agentId, options)
  if (lease === undefined) throw busyError(store, agentId)
  return openHeld(store, lease)
}

/** The session of an agent that this process holds. Releases the agent if the session cannot be opened. */
export async function openHeld(store: Store, lease: Lease): Promise<Session> {
  try {
    return Session.repair(store, lease)
  } catch (error) {
    await lease.release()
    throw error
  }
}

export type RecordListener = (record: SessionRecord) => void

export class Session {
  /** For views of an agent, which may be held by another process. */
  readonly isHeld = true
  /** Whether the agent's mail is left to a command that waits for it. */
  yields = false
  /** When this command began to wait for the agent with a message. The process before may have left later mail to it. */
  arrivedAt: string | undefined
  /** The events that are queued for targets outside the home, in the batch of their cause. */
  outboundRules: OutboundRules = []
  /** For an agent with schedules: adds the records of the slots that were prevented, in the batch of its end. */
  onLifted: (before: State, records: NewRecord[]) => NewRecord[] = (_before, records) => records
  private readonly listeners: RecordListener[] = []
  private isClosed = false
  private hasLeft = false
  private knownMail: string[] | undefined
  /** Records that the next batch carries, because they are not worth an fsync of their own. */
  private carried: NewRecord[] = []
  /** The keys in the state when the session was opened. */
  private readonly openedKeys: State['keys']

  private constructor(
    readonly store: Store,
    private readonly lease: Lease,
    private current: State,
    /** How much of the log the snapshot on disk covers; -1 without a snapshot. */
    private snapshotBytes: number,
    /** The end of the log, as far as it is known to be intact. Undefined if the snapshot did not cover all of the log. */
    private intactEnd: IntactEnd | undefined,
  ) {
    this.openedKeys = current.keys
  }

  /** Opens a session under its lock. Cuts or syncs the tail that a dead writer left (durability rules 4 and 5). */
  static repair(store: Store, lease: Lease): Session {
    const { agentId, log } = lease
    const loaded = load(agentId, log, lease.snapshot, limits.logCheckedForAppendBytes)
    const { state, snapshotBytes, syncedBytes, intactEnd } = withUsage(loaded, log)
    const openRunId = state.run?.status === 'open' ? state.run.run_id : null
    const isStale = lease.requests.some(({ runId }) => runId !== openRunId)
    if (isStale || log.size() > syncedBytes)
      lease.repair({ synced: syncedBytes, end: state.log_bytes, openRunId })
    return new Session(store, lease, state, snapshotBytes, intactEnd)
  }

  get state(): State {
    return this.current
  }
  get id(): string {
    return this.current.id
  }

  onRecord(listener: RecordListener): void {
    this.listeners.push(listener)
  }

  /** Calls back once, when the next record of that kind is durable. */
  onceDurable(kind: SessionRecord['kind'], then: () => void): void {
    const listener: RecordListener = (record) => {
      if (record.kind !== kind) return
      this.listeners.splice(this.listeners.indexOf(listener), 1)
      then()
    }
    this.listeners.push(listener)
  }

  /** Stores content that the next record will name. */
  writeBlob(content: Buffer): BlobReference {
    return this.lease.writeBlob(content)
  }

  /** Appends one batch, durable on return. Large content goes to blobs first. */
  append(records: NewRecord[]): SessionRecord[] {
    return records.length === 0 ? [] : this.appendEncoded(this.encode(records))
  }

  /** The batch of these records, for a caller that needs its bytes before `appendEncoded`. */
  encode(records: NewRecord[]): EncodedBatch {
    return encodeBatch(this.current, [...this.carried, ...records], (before, all) =>
      this.withNotices(before, before.schedules === undefined ? all : this.onLifted(before, all)),
    )
  }

  private withNotices(before: State, records: NewRecord[]): NewRecord[] {
    const { outboundRules: rules } = this
    if (rules.length === 0 && before.outbound === undefined) return records
    return withOutbound(before, records, rules, (reply) => this.textOfReply(reply))
  }

  /** Appends the batch that `encode` returned last. */
  appendEncoded(batch: EncodedBatch): SessionRecord[] {
    this.lease.append(this.placed(batch))
    return this.appended(batch)
  }

  /**
   * Appends the batch that ends a turn. False if messages have come since the inbox was read: nothing changed, and the next `mailIds`
   * has them. `isOver`: whether the visit has nothing more to do. A store on another machine then leaves the agent in the same request.
   */
  appendEnd(records: NewRecord[], isOver: (state: State) => boolean): boolean {
    const batch = this.encode(records)
    if (this.lease.endTurn === undefined) {
      this.appendEncoded(batch)
      return true
    }
    const { mailIds } = this
    const hasLeft = mailIds.length === 0 && !isKeyIndexDue(this.store, batch.state) && isOver(batch.state)
    const snapshot = hasLeft ? snapshotOf(batch.state, this.intactEnd?.after(batch.bytes)) : undefined
    if (!this.lease.endTurn(this.placed(batch), { mailIds, snapshot })) {
      this.forgetMailIds()
      return false
    }
    this.hasLeft = hasLeft
    this.appended(batch)
    return true
  }

  private placed(batch: EncodedBatch): Batch {
    const { log_bytes: offset, format } = this.current
    return { id: randomUuid(), offset, ...batch, isUpgrade: format !== FORMAT }
  }

  private appended(batch: EncodedBatch): SessionRecord[] {
    this.current = batch.state
    this.intactEnd = this.intactEnd?.after(batch.bytes)
    this.carried = []
    for (const record of batch.records) for (const listener of this.listeners) listener(record)
    return batch.records
  }

  /**
   * Puts the record before the next batch, in the same write. A crash before that loses it: notes and output are for readers
   * only, and the next visit sends the outbox again, each message by the same id.
   */
  carry(record: NewRecord<'program.note' | 'program.output' | 'mail.answered'>): void {
    this.carried.push(record)
  }

  isCarrying(kind: 'mail.answered'): boolean {
    return this.carried.some((record) => record.kind === kind)
  }

  /** Appends the last batch of the session, with all that no batch has carried yet. */
  appendLast(records: NewRecord[]): void {
    if (records.length + this.carried.length > 0) this.appendEncoded(this.encode(records))
  }

  /** The ids of the messages in the inbox when it was last read. */
  get mailIds(): string[] {
    this.knownMail ??= this.lease.mailIds
    return this.knownMail
  }

  /** Makes the next `mailIds` read the inbox again, because messages may have come since. */
  forgetMailIds(): void {
    this.knownMail = undefined
  }

  /** Before `appendEnd`, which checks the inbox itself where a look is a request to another machine. */
  forgetUncheckedMailIds(): void {
    if (this.lease.endTurn === undefined) this.forgetMailIds()
  }

  removeMail(messageId: string): void {
    this.store.mail.remove(this.id, messageId)
    this.knownMail = this.knownMail?.filter((id) => id !== messageId)
  }

  /** The text of a message, from its line or its blob. */
  text(content: Content): string {
    return readText(this.store, this.id, content)
  }

  private textOfReply(at: Location): string {
    const record = this.recordAt(at)
    return record.kind === 'message.agent' ? this.text(record.content) : ''
  }

  /** Where a record since the last compaction is. Throws for an earlier one. */
  placeOf(seq: number): { seq: number; offset: number } {
    const { context_seq, context_offset } = this.current
    let offset = context_offset
    for (const { record, end } of this.recordsOfLog({
      seq: context_seq,
      offset: context_offset,
    })) {
      if (record.seq === seq) return { seq, offset }
      offset = end
    }
    throw new SubstratError('UNEXPECTED', `record ${seq} is not in the context of ${this.id}`)
  }

  recordAt(at: Location): SessionRecord {
    return recordAt(this.lease.log, at)
  }

  /** The records of some kinds from that place on, in order. */
  *recordsOfKinds<K extends RecordKind>(
    from: Pick<Location, 'seq' | 'offset'>,
    kinds: readonly K[],
  ): Generator<SessionRecord<K>> {
    const { log } = this.lease
    for (const { record } of recordsOfKinds(log, from, log.size(), kinds)) yield record
  }

  /** The latest record first. */
  *recordsFromEnd(): Generator<SessionRecord> {
    for (const { record } of this.lease.log.recordsFromEnd()) yield record as unknown as SessionRecord
  }

  /** The records of `[from, to)`, in order. */
  *records(from: Pick<Location, 'seq' | 'offset'>, to?: number): Generator<SessionRecord> {
    for (const { record } of this.recordsOfLog(from, to)) yield record
  }

  /** The whole log counts as complete, because `repair` has cut a truncated tail. */
  private recordsOfLog(from: Pick<Location, 'seq' | 'offset'>, to?: number): ReturnType<typeof recordsFrom> {
    return recordsFrom(this.lease.log, from, to, this.lease.log.size())
  }

  /** When the programs of this agent must be dead. Undefined if its lease lasts as long as this process. */
  leaseDeadline(): LeaseDeadline | undefined {
    return this.lease.deadline?.()
  }

  /**
   * How long until the leashes of all earlier leases have ended their programs, on every host. Undefined if a lease lasts as long as
   * its process: then no leash ends a program at a known time.
   */
  get leashesLeftMs(): number | undefined {
    const soleMs = this.lease.soleForMs?.()
    return soleMs === undefined ? undefined : Math.max(0, limits.leashMarginMs - soleMs)
  }

  /** For `doctor --rebuild`. Otherwise `close` keeps the key index current. */
  rebuildKeys(): void {
    this.lease.assertHeld()
    rebuildKeyIndex(this.store, this.lease.log, this.current)
  }

  /**
   * Closes the session cleanly: writes the snapshot, removes the marker if the agent needs no visit, and releases the lock. If
   * the snapshot cannot be written, the session still closes: the log has everything, and the marker stays. `needsVisit`: whether the
   * agent needs a visit, also if it has no mail.
   */
  async close(needsVisit: (state: State) => boolean): Promise<void> {
    const { lease, current } = this
    if (this.hasLeft) return this.abandon()
    try {
      lease.assertHeld()
      if (current.keys !== this.openedKeys) writeKeyIndex(this.store, lease.log, current)
      const isCurrent = this.snapshotBytes === current.log_bytes
      const snapshot = isCurrent ? undefined : snapshotOf(current, this.intactEnd)
      await lease.rest({ snapshot, needsVisit: needsVisit(current) })
    } catch (error) {
      if (!(error instanceof SubstratError)) throw error
    } finally {
      await this.abandon()
    }
  }

  /** Releases the lock and changes nothing else. After a storage failure, recovery does the rest. */
  async abandon(): Promise<void> {
    if (this.isClosed) return
    // A second release could close descriptors that the kernel has since reused.
    this.isClosed = true
    await this.lease.release()
  }
}
