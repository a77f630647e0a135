/** The snapshots of very many agents, read by one statement. */
import type { KnownEnd, PeekedSnapshot } from 'substrat/store'
import { call, type Shared } from './rights.js'

/** The SQLSTATE of bytes that are not text. */
const NO_TEXT = '22021'

interface Peeked {
  snapshot: string
  last_offset: number
  /** The last record of the log. */
  tail: string
}

export class SnapshotPrefetch {
  private ahead: ReadonlySet<string> = new Set()
  private isOfAll = false
  private found: Map<string, Peeked> | undefined
  private covered: ReadonlySet<string> = new Set()
  private last: { agentId: string; peeked: Peeked | undefined } | undefined

  constructor(private readonly shared: Shared) {}

  /** `all`: the ids of all agents, if they were read before. */
  readAhead(agentIds: string[], all: string[]): void {
    this.ahead = new Set(agentIds)
    this.isOfAll =
      agentIds.length > 0 && agentIds.length === all.length && all.every((id) => this.ahead.has(id))
    this.found = undefined
    this.covered = new Set()
    this.last = undefined
  }

  /** Whether the snapshot of an agent that is read ahead covers its log. */
  has(agentId: string): boolean {
    return this.covered.has(agentId)
  }

  peek<S extends KnownEnd>(
    agentId: string,
    heads: string[],
    parse: (snapshot: PeekedSnapshot) => S | undefined,
  ): S | undefined {
    const { beginsWith, damageOf, recordHead, LF, SUFFIX_BYTES } = this.shared.kit
    const peeked = this.take(agentId)
    if (peeked === undefined) return undefined
    const { last_offset: lastOffset } = peeked
    const [snapshot, tail] = [peeked.snapshot, peeked.tail].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
    ]
    const head = heads.find((each) => beginsWith(snapshot, each))
    const length = snapshot.length - 1
    if (head === undefined || damageOf(snapshot, head, length) !== undefined) return undefined
    const end = parse({
      head,
      text: (encoding) => snapshot.toString(encoding, head.length, length - SUFFIX_BYTES),
    })
    if (end?.id !== agentId || end.last_offset !== lastOffset || tail.at(-1) !== LF) return undefined
    if (end.log_bytes !== lastOffset + tail.length) return undefined
    const record = `${recordHead(end.last_seq)}"ts":"${end.updated_at}",`
    return damageOf(tail, record, tail.length - 1) === undefined ? end : undefined
  }

  private take(agentId: string): Peeked | undefined {
    if (!this.ahead.has(agentId)) return this.fetch([agentId]).get(agentId)
    if (this.found === undefined) {
      this.found = this.fetch(this.isOfAll ? null : [...this.ahead])
      this.covered = new Set(this.found.keys())
    }
    // A caller that could not use it for one form of a snapshot tries the other one next.
    if (this.last?.agentId !== agentId) this.last = { agentId, peeked: this.found.get(agentId) }
    // A later look at the same agent reads it again.
    this.found.delete(agentId)
    return this.last.peeked
  }

  /** None if one of them is damaged: then each is opened. */
  private fetch(ids: string[] | null): Map<string, Peeked> {
    try {
      const part = ids === null ? 'peeks' : 'none'
      const rows = call(this.shared, undefined, (client) => client.readOnce(part, 'peek_agents', ids))
      return new Map(rows.map((row) => [row.id as string, row as unknown as Peeked]))
    } catch (error) {
      if ((error as { facts?: { sqlstate?: string } }).facts?.sqlstate === NO_TEXT) return new Map()
      throw error
    }
  }
}
