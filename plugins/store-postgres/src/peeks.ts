/** The snapshots of very many agents, read by one statement. */
import type { KnownEnd, PeekedSnapshot } from 'substrat/store'
import { bytesOf } from './client.js'
import { call, type Shared } from './rights.js'

interface Peeked {
  snapshot: Buffer
  lastOffset: number
  /** The last record of the log. */
  tail: Buffer
}

export class Peeks {
  private ahead: string[] = []
  private found: Map<string, Peeked> | undefined

  constructor(private readonly shared: Shared) {}

  readAhead(agentIds: string[]): void {
    this.ahead = agentIds
    this.found = undefined
  }

  peek<S extends KnownEnd>(
    agentId: string,
    heads: string[],
    parse: (snapshot: PeekedSnapshot) => S | undefined,
  ): S | undefined {
    const { beginsWith, damageOf, recordHead, LF, SUFFIX_BYTES } = this.shared.kit
    const peeked = this.take(agentId)
    if (peeked === undefined) return undefined
    const { snapshot, lastOffset, tail } = peeked
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
    const isAhead = this.ahead.includes(agentId)
    if (!isAhead) return this.fetch([agentId]).get(agentId)
    this.found ??= this.fetch(this.ahead)
    const peeked = this.found.get(agentId)
    // A second look at the same agent reads it again.
    this.found.delete(agentId)
    return peeked
  }

  private fetch(ids: string[]): Map<string, Peeked> {
    const rows = call(this.shared, undefined, (client) => client.read('peek_agents', ids))
    return new Map(
      rows.map(({ id, snapshot, last_offset, tail }) => [
        id as string,
        { snapshot: bytesOf(snapshot), lastOffset: Number(last_offset), tail: bytesOf(tail) },
      ]),
    )
  }
}
