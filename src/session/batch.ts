/**
 * Encodes records as a batch of log lines: adds seq, time and batch, and moves large content to blobs. Each record is checked
 * and folded before the first byte is written, so a refused record leaves nothing on disk.
 */
import { timestampAfter } from '../clock.js'
import { assert } from '../errors.js'
import { FORMAT } from '../format.js'
import { bootId, type ClockReading, hostName, ownIdentity, readClock } from '../host/identity.js'
import { limits } from '../limits.js'
import type { Content } from '../schema/types.js'
import { sha256Hex } from '../start/hash.js'
import { BatchLines } from '../storage/store.js'
import { withActor } from './actor.js'
import { fold } from './fold/fold.js'
import { type NewRecord, type SessionRecord, wrongShape } from './records.js'
import type { State } from './state.js'
import { deriveStatus, type Status } from './status.js'

export interface EncodedBatch {
  bytes: Buffer
  records: SessionRecord[]
  /** Content that the records name by hash. The blobs must be durable before `bytes` are written. */
  blobs: Buffer[]
  state: State
}

/** Adds to the records of a batch what must leave the machine because of them. */
export type OutboundHook = (before: State, records: NewRecord[]) => NewRecord[]

/** `before` is undefined for the first batch of a log. */
export function encodeBatch(
  before: State | undefined,
  records: NewRecord[],
  outbound?: OutboundHook,
): EncodedBatch {
  const own = [...upgradeOf(before, records), ...records]
  const all = before === undefined || outbound === undefined ? own : outbound(before, own)
  return withTransition(before, all) ?? new Encoding(before, all.length).addAll(all).whole()
}

/** A batch in the making, which is to have that many records. */
class Encoding {
  private readonly records: SessionRecord[] = []
  private readonly blobs: Buffer[] = []
  private readonly lines: BatchLines
  private readonly place: Pick<SessionRecord, 'ts' | 'batch'>
  /** Checked at the end: a batch of one record less may have a digit less in each line. */
  private tooLong: string | undefined

  constructor(
    private state: State | undefined,
    count: number,
  ) {
    const first = (state?.last_seq ?? 0) + 1
    this.lines = new BatchLines(state?.log_bytes ?? 0)
    this.place = { ts: timestampAfter(state?.updated_at), batch: [first, first + count - 1] }
  }

  whole(): EncodedBatch {
    const { tooLong } = this
    assert(tooLong === undefined, `a line is at most ${limits.lineBytesMax} bytes: ${tooLong}`)
    return { bytes: this.lines.bytes, records: this.records, blobs: this.blobs, state: this.state as State }
  }

  get status(): Status {
    return deriveStatus(this.state as State, true, NO_CLOCK)
  }

  addAll(records: NewRecord[]): this {
    for (const record of records) this.add(record)
    return this
  }

  private add(record: NewRecord): void {
    const { ts, batch } = this.place
    const seq = batch[0] + this.records.length
    // `kind` precedes the record's own fields in the line.
    const fields: object = withHost(withClock(withActor(withBlobs(record, this.blobs))))
    const whole = { seq, ts, kind: record.kind, batch, ...fields } as SessionRecord
    const wrong = wrongShape(whole)
    assert(wrong === undefined, `a record is of its kind's shape: ${whole.kind}, ${wrong}`)
    const { offset, end } = this.lines.add(whole)
    if (end - offset > limits.lineBytesMax) this.tooLong ??= whole.kind
    this.state = fold(this.state, whole, { seq, offset, end })
    this.records.push(whole)
  }
}

/** A log of an earlier format says so before its next record. */
function upgradeOf(before: State | undefined, records: NewRecord[]): NewRecord[] {
  if (before === undefined || before.format === FORMAT || records.length === 0) return []
  return [{ kind: 'session.upgraded', from_format: before.format, to_format: FORMAT }]
}

/**
 * The batch with the derived status at its end, for readers that follow the log. Undefined if it does not change the status. It
 * depends on the records alone: a deadline that has passed changes the status when a record says so.
 */
function withTransition(before: State | undefined, records: NewRecord[]): EncodedBatch | undefined {
  if (!records.some(({ kind }) => MAY_CHANGE_STATUS.test(kind))) return undefined
  // Nearly each such batch changes the status, so it is encoded at once as one that does.
  const batch = new Encoding(before, records.length + 1).addAll(records)
  const known = before === undefined ? 'idle' : deriveStatus(before, true, NO_CLOCK)
  const { status } = batch
  return status === known ? undefined : batch.addAll([{ kind: 'status.derived', status }]).whole()
}

/** Earlier than every deadline. */
const NO_CLOCK: ClockReading = { at: '', kernel_boot_id: '', uptime_ms: 0 }

const MAY_CHANGE_STATUS = /^(run|token)\.|^session\.(terminated|rebuilt|moved|arrived)$/

/** Adds the clock reading to a record that starts or ends a duration. `ts` cannot serve: it never runs backwards, but a clock may. */
function withClock(record: NewRecord): NewRecord {
  const begins =
    record.kind === 'token.minted' ||
    record.kind === 'token.consumed' ||
    record.kind === 'run.waiting' ||
    (record.kind === 'mail.delivered' && record.reminder_id !== undefined)
  return begins && record.clock === undefined ? { ...record, clock: readClock() } : record
}

/** Adds this machine to a record of this process. */
function withHost(record: NewRecord): NewRecord {
  if (!('boot_id' in record) || record.boot_id !== bootId()) return record
  const { host_id } = ownIdentity()
  if (host_id === undefined) return record
  return record.kind === 'session.activated'
    ? { ...record, host_id }
    : { ...record, host_id, host_name: hostName() }
}

const CONTENT_FIELDS = ['content', 'instructions', 'said', 'conversation'] as const

function withBlobs(record: NewRecord, blobs: Buffer[]): NewRecord {
  let moved: Record<string, Content> | undefined
  for (const field of CONTENT_FIELDS) {
    const text = (record as unknown as Record<string, unknown>)[field]
    if (typeof text !== 'string' || text.length <= limits.inlineBytesMax / 4) continue
    const bytes = Buffer.from(text)
    if (bytes.length <= limits.inlineBytesMax) continue
    blobs.push(bytes)
    moved = { ...moved, [field]: { blob: sha256Hex(bytes), bytes: bytes.length } }
  }
  return moved === undefined ? record : { ...record, ...moved }
}
