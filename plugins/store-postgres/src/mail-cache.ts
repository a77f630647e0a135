/**
 * The mail and the stop requests of an agent, as the last statement of this process saw them: an append, the end of a visit and the
 * release of a slot bring them along, because the caller asks for them next.
 *
 * They are used only if no other statement came between, and for a moment: a caller that did something else reads again.
 */
const MS_MAX = 100

interface Seen {
  agentId: string
  mail: string[]
  requests: string[]
  statement: number
  atMs: number
}

export class MailCache {
  private seen: Seen | undefined

  /** `statement`: the number of the statement that saw it. */
  note(agentId: string, row: Record<string, unknown> | undefined, statement: number): void {
    const { mail = [], requests = [] } = (row ?? {}) as Partial<Seen>
    this.seen = { agentId, mail, requests, statement, atMs: performance.now() }
  }

  /** `statement`: the number of the last one. */
  of(agentId: string, statement: number): Pick<Seen, 'mail' | 'requests'> | undefined {
    const { seen } = this
    const isFresh = seen?.statement === statement && performance.now() - seen.atMs < MS_MAX
    return isFresh && seen.agentId === agentId ? seen : undefined
  }
}
