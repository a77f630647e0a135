/**
 * Agents that a list opens one after another: one statement reads a page of them. Only between two calls of `begin`, and each row
 * only until the next agent is looked at, because a caller that looks at an agent again wants it as it is then.
 */
import type { Row } from './protocol.js'

const AGENTS_MAX = 256
/** The logs and snapshots of a page. A page has at least one agent. */
const BYTES_MAX = 8 * 1024 * 1024

export class Pages {
  private order: string[] = []
  private places: ReadonlyMap<string, number> = new Map()
  /** The place of the first agent that no page has covered. */
  private next = 0
  private readonly rows = new Map<string, Row>()
  private current: { agentId: string; row: Row | undefined } | undefined
  private isCovered: (agentId: string) => boolean = () => false
  /** The agents that may have mail. Undefined: any may. */
  private marked: ReadonlySet<string> | undefined

  constructor(private readonly fetch: (agentIds: string[], bytesMax: number) => Row[]) {}

  /** The caller looks at these agents in this order, and opens one only if it may have mail, or its snapshot does not cover its log. */
  begin(agentIds: string[], isCovered: (agentId: string) => boolean): void {
    this.isCovered = isCovered
    this.order = agentIds
    this.places = new Map(agentIds.map((id, place) => [id, place]))
    this.next = 0
    this.rows.clear()
    this.current = undefined
  }

  noteMarked(agentIds: string[]): void {
    this.marked = new Set(agentIds)
  }

  /** Undefined: no page has the agent, and the caller reads it alone. `row`: undefined if there is no such agent. */
  find(agentId: string): { row: Row | undefined } | undefined {
    if (this.current?.agentId === agentId) return this.current
    const place = this.places.get(agentId)
    if (place === undefined) return undefined
    this.current = undefined
    if (place >= this.next) this.read(place)
    else if (!this.rows.has(agentId)) return undefined
    this.current = { agentId, row: this.rows.get(agentId) }
    this.rows.delete(agentId)
    return this.current
  }

  private read(place: number): void {
    const ids = [this.order[place] as string]
    let end = place + 1
    for (; end < this.order.length && ids.length < AGENTS_MAX; end++) {
      const id = this.order[end] as string
      if (!this.isCovered(id) || this.marked?.has(id) !== false) ids.push(id)
    }
    const rows = this.fetch(ids, BYTES_MAX)
    this.rows.clear()
    for (const row of rows) this.rows.set(row.id as string, row)
    // The agents after the last row may be those for which the page had no room.
    const last = rows.at(-1)
    this.next = last === undefined ? end : (this.places.get(last.id as string) ?? place) + 1
  }
}
