/** The lease of an agent in the database. Each change names the lease, and the database refuses one that is not the agent's. */
import { createHash } from 'node:crypto'
import type {
  Batch,
  BlobReference,
  Lease,
  LeaseDeadline,
  Rest,
  StopRequest,
  Tail,
  TurnEnd,
  Unframed,
} from 'substrat/store'
import type { RemoteLog } from './log.js'
import { call, type HeldRight, type Shared } from './rights.js'
import { uptimeMs } from './uptime.js'

export interface TakenParts {
  log: RemoteLog
  snapshot: Unframed
  requests: StopRequest[]
  mailIds: string[]
  /** For how long the lease before was over when this one began. 0 if unknown. */
  overMs: number
  /** Creates its directory. */
  newDeadlineFile: () => string
}

export class AgentLease implements Lease {
  readonly log: RemoteLog
  readonly snapshot: Unframed
  readonly requests: StopRequest[]
  private firstMailIds: string[] | undefined
  private readonly newDeadlineFile: () => string
  private readonly overMs: number
  private readonly answeredMs = uptimeMs()
  /** Set once the worker writes it. */
  private file: string | undefined

  constructor(
    readonly agentId: string,
    private readonly shared: Shared,
    private readonly held: HeldRight,
    { log, snapshot, requests, mailIds, overMs, newDeadlineFile }: TakenParts,
  ) {
    this.log = log
    this.snapshot = snapshot
    this.requests = requests
    this.firstMailIds = mailIds
    this.overMs = overMs
    this.newDeadlineFile = newDeadlineFile
  }

  get mailIds(): string[] {
    const first = this.firstMailIds
    this.firstMailIds = undefined
    const { agentId, shared } = this
    return (
      first ??
      shared.client.cachedMail(agentId)?.mail ??
      call(shared, agentId, (client) => client.list('mail_ids', agentId, 'pending'))
    )
  }

  assertHeld(): void {
    this.held.assertHeld()
  }

  repair({ end, openRunId }: Tail): void {
    this.held.assertHeld()
    const isNeeded = end < this.log.size() || this.requests.some(({ runId }) => runId !== openRunId)
    if (!isNeeded) return
    this.write('repair', [end, openRunId])
    if (end < this.log.size()) this.log.cut(end)
  }

  writeBlob(content: Buffer): BlobReference {
    this.held.assertHeld()
    this.write('write_blob', [content])
    return { blob: createHash('sha256').update(content).digest('hex'), bytes: content.length }
  }

  append(batch: Batch): void {
    this.held.assertHeld()
    this.shared.slots.releasing((slot) => this.write('append', [...this.valuesOf(batch), ...slot]))
    this.grow(batch)
  }

  endTurn(batch: Batch, { mailIds, snapshot }: TurnEnd): boolean {
    this.held.assertHeld()
    const leaves = snapshot !== undefined
    if (leaves) this.shared.slots.releaseSpare(this.agentId)
    const end = [[...mailIds].sort(), leaves, ...snapshotValues(this.shared, snapshot)]
    const isDone = this.shared.slots.releasing((slot) =>
      this.write('end_turn', [...this.valuesOf(batch), ...slot, ...end]),
    )
    if (isDone !== true) {
      this.firstMailIds = undefined
      return false
    }
    this.grow(batch)
    if (leaves) this.end()
    return true
  }

  async rest({ snapshot, needsVisit }: Rest): Promise<void> {
    this.held.assertHeld()
    const { shared } = this
    shared.slots.releaseSpare(this.agentId)
    shared.slots.releasing((slot) =>
      this.write('rest', [...snapshotValues(shared, snapshot), needsVisit, ...slot]),
    )
    this.end()
  }

  private end(): void {
    this.held.end()
    this.shared.seen?.keep()
  }

  release(): Promise<void> {
    this.shared.slots.releaseSpare(this.agentId)
    return this.held.release()
  }

  deadline(): LeaseDeadline {
    if (this.file === undefined) {
      const file = this.newDeadlineFile()
      this.held.writeDeadlineInto(file)
      this.file = file
    }
    return { file: this.file, lease: this.held.lease }
  }

  soleForMs(): number {
    return this.overMs + uptimeMs() - this.answeredMs
  }

  private valuesOf({ id, offset, bytes, blobs }: Batch): unknown[] {
    return [id, offset, bytes, blobs, this.shared.kit.FORMAT]
  }

  private grow({ offset, bytes }: Batch): void {
    // A sender that stored a message before this batch relies on its being seen after it.
    this.firstMailIds = undefined
    // A batch that is appended twice is there once.
    if (offset === this.log.size()) this.log.grow(Buffer.from(bytes))
  }

  private write(name: string, values: unknown[]): unknown {
    const { key, lease, deadlineMs, slot } = this.held
    const done = call(this.shared, this.agentId, (client) =>
      client.callAndLook(key, name, [key, lease, ...values], { untilMs: deadlineMs, slot }),
    )
    this.shared.seen?.note(this.shared.client.lastChange)
    return done
  }
}

/** The framed snapshot, the end of the log that it covers, and the place of its last record. */
export function snapshotValues(
  { kit }: Shared,
  snapshot: object | undefined,
): [Buffer | null, number | null, number | null] {
  if (snapshot === undefined) return [null, null, null]
  const { log_bytes, last_offset } = snapshot as { log_bytes?: unknown; last_offset?: unknown }
  const isKnown = typeof log_bytes === 'number' && typeof last_offset === 'number'
  return [kit.frame(snapshot), isKnown ? log_bytes : null, isKnown ? last_offset : null]
}

export function unframedSnapshot({ kit }: Shared, bytes: Buffer): Unframed {
  return bytes.length === 0 ? { damage: 'it is missing' } : kit.unframeFile(bytes)
}

export function requestsIn(texts: unknown): StopRequest[] {
  return ((texts ?? []) as string[]).map((text) => {
    const [runId = '', verb, by] = text.split('.')
    return { runId, verb: verb as StopRequest['verb'], ...(by === undefined ? {} : { by: askedBy(by) }) }
  })
}

/** The verb of a request, with the one who asks. Earlier versions read the verb alone. */
export function requestWord(verb: StopRequest['verb'], by: object | undefined): string {
  return by === undefined ? verb : `${verb}.${Buffer.from(JSON.stringify(by)).toString('base64url')}`
}

function askedBy(word: string): object {
  return JSON.parse(Buffer.from(word, 'base64url').toString('utf8')) as object
}
