/** A home as seen by those who wrote to its agents: the agents, the messages each received, and the results. */

import { OPERATOR } from '../../src/format.js'
import { decodeMessage, type Message } from '../../src/mail/message.js'
import { isDeferred } from '../../src/session/fold/mail.js'
import type { SessionRecord } from '../../src/session/records.js'
import { isInterrupted } from '../../src/session/status.js'
import { openHome } from '../../src/storage/open.js'
import type { Store } from '../../src/storage/store.js'
import { type AgentSeen, HomeView } from '../support/home-view.js'
import { idOf } from './program.js'

/** A message in a log. */
export interface Taken {
  message_id: string
  /** The id that its writer gave; undefined for replies, errors and notices. */
  id: string | undefined
  from: string
  kind: 'request' | 'response' | 'notification' | 'error'
  content: string
  reply_to: string | null
  seq: number
  run_id: string
  isDirect: boolean
}

/** The outcome of a run and of the runs that continued it. */
interface Fate {
  status: string
  reply: string | null
  /** How many of its runs have ended. */
  ends: number
  /** How often it was continued automatically. */
  attempts: number
  /** The reason of its last interruption. */
  reason: string | null
}

export interface AgentInWorld extends AgentSeen {
  taken: Taken[]
  waiting: Message[]
  /** By run id. A run and its continuations share one fate. */
  fates: Map<string, Fate>
}

export class World {
  readonly agents: AgentInWorld[]
  /** Messages pending for the operator. */
  readonly toOperator: Message[]

  private constructor(store: Store | undefined, agents: AgentSeen[]) {
    this.agents = agents.map((agent) => ({
      ...agent,
      taken: takenBy(agent),
      waiting: store === undefined ? [] : messagesOf(store, agent.state.id, agent.pending),
      fates: fatesIn(agent),
    }))
    this.toOperator = store === undefined ? [] : messagesOf(store, OPERATOR, store.mail.ids(OPERATOR))
  }

  static read(home: string): World {
    return new World(openHome(home), HomeView.read(home).agents)
  }

  agent(id: string | null | undefined): AgentInWorld | undefined {
    return this.agents.find(({ state }) => state.id === id)
  }

  /** The agents that still have something to do by themselves. */
  owed(): AgentInWorld[] {
    return this.agents.filter(
      ({ state, waiting }) =>
        (state.run?.status === 'open' &&
          state.run.wait?.kind !== 'approval' &&
          state.run.wait?.kind !== 'input') ||
        isInterrupted(state) ||
        state.owes.some((owed) => !isDeferred(state, owed)) ||
        waiting.length > 0,
    )
  }
}

function messagesOf(store: Store, to: string, ids: string[]): Message[] {
  return ids.flatMap((id) => {
    const line = store.mail.read(to, id)
    return (line === undefined ? undefined : decodeMessage(line, id)) ?? []
  })
}

function takenBy({ records, text }: AgentSeen): Taken[] {
  return records.flatMap((record): Taken[] => {
    const isDirect = record.kind === 'message.user' && record.origin === 'operator'
    if (!isDirect && record.kind !== 'mail.delivered') return []
    const { message_id, seq, run_id } = record as SessionRecord<'message.user' | 'mail.delivered'>
    const content = text(record)
    const at = { message_id, id: idOf(content), content, seq, run_id, isDirect }
    if (record.kind !== 'mail.delivered') return [{ ...at, from: OPERATOR, kind: 'request', reply_to: null }]
    return [{ ...at, from: record.from, kind: record.mail_kind, reply_to: record.reply_to ?? null }]
  })
}

function fatesIn({ records, text }: AgentSeen): Map<string, Fate> {
  const fates = new Map<string, Fate>()
  for (const record of records) {
    if (!('run_id' in record) || record.run_id === undefined) continue
    if (record.kind === 'run.started') {
      const before = fates.get(record.continues ?? '')
      const fate = before ?? { status: 'open', reply: null, ends: 0, attempts: 0, reason: null }
      if (record.auto === true) fate.attempts += 1
      fates.set(record.run_id, Object.assign(fate, { status: 'open' }))
    }
    const fate = fates.get(record.run_id)
    if (fate === undefined) continue
    if (record.kind === 'run.resumed' && record.auto) fate.attempts += 1
    if (record.kind === 'run.interrupted') fate.reason = record.reason
    if (record.kind === 'message.agent') fate.reply = text(record)
    if (!/^run\.(completed|failed|cancelled|interrupted)$/.test(record.kind)) continue
    fate.status = record.kind === 'run.cancelled' ? record.reason : record.kind.slice('run.'.length)
    fate.ends += 1
  }
  return fates
}
