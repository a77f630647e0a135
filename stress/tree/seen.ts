/** A home of many agents as the oracle sees it: every log and every inbox. */

import { OPERATOR } from '../../src/format.js'
import { decodeMessage } from '../../src/mail/message.js'
import type { SessionRecord } from '../../src/session/records.js'
import { isInterrupted } from '../../src/session/status.js'
import { openHome } from '../../src/storage/open.js'
import type { Store } from '../../src/storage/store.js'
import { type AgentSeen, HomeView } from '../support/home-view.js'

/** A message at its destination: in a log, or in the inbox of the operator, who has no log. */
export interface Arrival {
  message_id: string
  from: string
  to: string
  kind: 'request' | 'response' | 'notification' | 'error'
  reply_to: string | null
  content: string
  /** The sequence number in the log. */
  seq: number
  run_id: string
  isDirect: boolean
}

export class Seen {
  readonly arrivals: Arrival[]
  private readonly byPath: Map<string, AgentSeen[]>
  private readonly byReply: Map<string, Arrival[]>

  private constructor(
    readonly store: Store,
    readonly agents: AgentSeen[],
  ) {
    this.arrivals = [...agents.flatMap(arrivalsIn), ...arrivalsAtOperator(store)]
    this.byPath = groupBy(agents, ({ state }) => state.path)
    this.byReply = groupBy(this.arrivals, ({ reply_to }) => reply_to ?? '')
  }

  static read(home: string): Seen {
    const store = openHome(home)
    if (store === undefined) throw new Error(`there is no home ${home}`)
    return new Seen(store, HomeView.read(home).agents)
  }

  /** All agents that ever had the path. */
  at(path: string): AgentSeen[] {
    return this.byPath.get(path) ?? []
  }

  idOf(path: string): string | undefined {
    return path === OPERATOR ? OPERATOR : this.at(path)[0]?.state.id
  }

  byId(id: string | null): AgentSeen | undefined {
    return this.agents.find(({ state }) => state.id === id)
  }

  repliesTo(messageId: string): Arrival[] {
    return this.byReply.get(messageId) ?? []
  }

  /** Requests and notifications that arrived. */
  get messages(): Arrival[] {
    return this.arrivals.filter(({ kind }) => kind === 'request' || kind === 'notification')
  }

  /** Agents that still have work to do. */
  owed(): AgentSeen[] {
    return this.agents.filter(
      ({ state, pending }) =>
        (state.run?.status === 'open' && state.run.wait === null) ||
        isInterrupted(state) ||
        state.owes.length > 0 ||
        pending.length > 0,
    )
  }
}

export function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

function arrivalsIn({ state, records, text }: AgentSeen): Arrival[] {
  return records.flatMap((record: SessionRecord): Arrival[] => {
    if (record.kind === 'mail.delivered') {
      const { message_id, from, mail_kind, reply_to = null, seq, run_id } = record
      const content = text(record)
      return [
        { message_id, from, to: state.id, kind: mail_kind, reply_to, content, seq, run_id, isDirect: false },
      ]
    }
    if (record.kind !== 'message.user') return []
    const { message_id, seq, run_id } = record
    const what = { kind: 'request' as const, reply_to: null, content: text(record) }
    return [{ message_id, from: OPERATOR, to: state.id, ...what, seq, run_id, isDirect: true }]
  })
}

function arrivalsAtOperator(store: Store): Arrival[] {
  return store.mail.ids(OPERATOR).flatMap((id): Arrival[] => {
    const line = store.mail.read(OPERATOR, id)
    const message = line === undefined ? undefined : decodeMessage(line, id)
    if (message === undefined || message.kind === 'control') return []
    const { message_id, from, to, kind, reply_to, content } = message
    return [{ message_id, from, to, kind, reply_to, content, seq: 0, run_id: '', isDirect: false }]
  })
}
