/**
 * The events of one agent. A feed reads each new record once for all clients, after an fsync, and has the latest ones in memory.
 * A client that is further behind reads the log itself. The number of a record is the id of its event, and live text has none.
 */

import { FaceError } from '../../../shared/src/face/face-error.js'
import type { StreamLine } from '../../../shared/src/face/output.js'
import type { Core, PageBounds, Position, Store } from '../core.js'
import { Feed } from './feed.js'
import { CHUNK_BYTES, eventOf, type Source } from './stream.js'

/** The latest records in memory. */
const RING_BYTES = 1024 * 1024
/** Live text that a client has not taken. Text beyond that is dropped: the durable record has all of it. */
const LIVE_BYTES = 64 * 1024

export class AgentFeed extends Feed<AgentSource> {
  readonly page: PageBounds
  private frames: Buffer[] = []
  private bytes = 0
  /** Where the log was read up to. Undefined until a client has come to the end of the log. */
  private end: Position | undefined
  /** A log of this size ended with an incomplete batch. */
  private incompleteSize = -1

  constructor(
    readonly core: Core,
    readonly store: Store,
    readonly agentId: string,
    onSync: (seconds: number) => void,
  ) {
    super()
    this.page = { records: 500, bytes: CHUNK_BYTES, isFollowing: true, onSync }
  }

  /** Reads what is new. */
  look(): void {
    if (this.end === undefined) return
    const { core, store } = this
    const size = core.logSize(store, this.agentId)
    if (size < this.end.offset) throw shorterLog(this.agentId)
    if (size === this.end.offset || size === this.incompleteSize) return
    for (;;) {
      const { records, next } = core.readPage(store, this.agentId, this.end, this.page)
      if (records.length === 0) break
      for (const record of records) this.keep(frameOf(record))
      this.end = next
    }
    this.incompleteSize = this.end.offset < size ? size : -1
    this.wakeAll()
  }

  /** The feed reads on from here, where a client has found the end of the log. */
  adopt(end: Position): void {
    this.end ??= end
  }

  /** The frames from this record on. Undefined if they are not in memory. */
  framesFrom(seq: number): Buffer[] | undefined {
    this.check()
    if (this.end === undefined) return undefined
    const first = this.end.seq - this.frames.length
    return seq < first ? undefined : this.frames.slice(seq - first)
  }

  /** Live text of a turn that this server started. It follows the latest record. */
  live(line: StreamLine): void {
    if (this.end === undefined || this.clients.size === 0) return
    const frame = eventOf('live', JSON.stringify(line))
    for (const client of this.clients) client.addLive({ seq: this.end.seq, frame })
  }

  private keep(frame: Buffer): void {
    this.frames.push(frame)
    this.bytes += frame.length
    while (this.bytes > RING_BYTES && this.frames.length > 1)
      this.bytes -= (this.frames.shift() as Buffer).length
  }
}

function frameOf(record: { seq: number }): Buffer {
  return eventOf('record', JSON.stringify(record), record.seq)
}

function shorterLog(agentId: string): Error {
  return FaceError.of({
    code: 'CORRUPT',
    message: `the log of agent ${agentId} was replaced by a shorter one`,
    hint: 'read it from the beginning; substrat doctor',
    facts: { agent_id: agentId },
  })
}

interface Live {
  /** The record that will follow it. */
  seq: number
  frame: Buffer
}

export class AgentSource implements Source {
  wake: () => void = () => undefined
  private lives: Live[] = []
  private liveBytes = 0
  /** Text was dropped, so the rest before this record makes no sense. */
  private mutedSeq = -1

  /** `from`: the next record. */
  constructor(
    private readonly feed: AgentFeed,
    private from: Position,
    private readonly onStop: () => void,
  ) {}

  start(wake: () => void): void {
    this.wake = wake
    this.feed.add(this)
  }

  stop(): void {
    this.feed.remove(this)
    this.onStop()
  }

  cursor(): object {
    return { after: this.from.seq - 1 }
  }

  addLive(live: Live): void {
    if (this.mutedSeq === live.seq) return
    this.liveBytes += live.frame.length
    if (this.liveBytes > LIVE_BYTES) {
      this.dropLive()
      this.mutedSeq = live.seq
      return
    }
    this.lives.push(live)
    this.wake()
  }

  next(): Buffer | undefined {
    const frames = this.feed.framesFrom(this.from.seq)
    if (frames === undefined) return this.readOn()
    const chunk: Buffer[] = []
    let bytes = 0
    for (;;) {
      const live = this.nextLive()
      const frame = live ?? frames.shift()
      if (frame === undefined) break
      if (live === undefined) this.from = { seq: this.from.seq + 1, offset: -1 }
      chunk.push(frame)
      bytes += frame.length
      if (bytes >= CHUNK_BYTES) break
    }
    return chunk.length === 0 ? undefined : Buffer.concat(chunk)
  }

  /** Live text that belongs before the next record. Older text is superseded by records. */
  private nextLive(): Buffer | undefined {
    for (let [first] = this.lives; first !== undefined && first.seq <= this.from.seq; [first] = this.lives) {
      this.lives.shift()
      this.liveBytes -= first.frame.length
      if (first.seq === this.from.seq) return first.frame
    }
    return undefined
  }

  private dropLive(): void {
    this.lives = []
    this.liveBytes = 0
  }

  /** Records from the log, for a client that is behind those in memory. */
  private readOn(): Buffer | undefined {
    const { core, store, agentId, page } = this.feed
    // The byte is unknown after records that came from memory.
    const from = this.from.offset >= 0 ? this.from : core.positionAfter(store, agentId, this.from.seq - 1)
    const { records, next } = core.readPage(store, agentId, from, page)
    this.from = next
    if (records.length > 0) return Buffer.concat(records.map(frameOf))
    this.feed.adopt(next)
    return undefined
  }
}
