/** A home as the contract sees it, read without a lock: prompts, replies, and the end of each run. */
import { checkHome } from '../../src/audit/check.js'
import { checkIndexes } from '../../src/audit/check-names.js'
import type { Finding } from '../../src/audit/finding.js'
import { openForRead, recordsFrom } from '../../src/session/load.js'
import { readRecordText } from '../../src/session/read.js'
import type { SessionRecord } from '../../src/session/records.js'
import type { State } from '../../src/session/state.js'
import { openHome } from '../../src/storage/open.js'
import type { OpenedLog, Store } from '../../src/storage/store.js'

export interface AgentSeen {
  state: State
  records: SessionRecord[]
  /** The bytes of complete batches. */
  log: Buffer
  /** The text of a message record. */
  text(record: SessionRecord): string
  /** Messages in its inbox that the log does not have. */
  pending: string[]
}

export interface Conversation {
  /** How often the text was recorded as a message. */
  asked: number
  /** The replies of the runs for that message, continuations included. */
  replies: string[]
  completed: number
}

export class HomeView {
  private constructor(
    readonly path: string,
    readonly agents: AgentSeen[],
  ) {}

  /** If the home is damaged, only the readable part. The audit reports the rest. */
  static read(home: string): HomeView {
    const store = openHome(home)
    if (store === undefined) return new HomeView(home, [])
    const agents = store.agentIds().map((id) => see(store, id))
    return new HomeView(
      home,
      agents.filter((agent) => agent !== undefined),
    )
  }

  livingNamed(name: string): AgentSeen[] {
    return this.agents.filter(({ state }) => state.name === name && state.state !== 'terminated')
  }

  agent(nameOrId: string): AgentSeen | undefined {
    return this.agents.find(({ state }) => state.name === nameOrId || state.id === nameOrId)
  }
}

/** The findings of the audit, as sentences. A home that does not exist yet has none. */
export function audit(home: string, isRecovered: boolean): string[] {
  const store = openHome(home)
  const findings = store === undefined ? [] : checkHome(store, { isRecovered })
  return findings.map(({ invariant, detail, agent_id }) => `${invariant}: ${detail} (agent ${agent_id})`)
}

/** Entries of name indexes that lead to no agent. A killed spawn may leave one, and a removal none once recovery has run. */
export function danglingEntries(home: string): string[] {
  const store = openHome(home)
  const findings: Finding[] = []
  if (store !== undefined) checkIndexes(store, store.agentIds(), findings)
  return findings.map(
    ({ detail, path }) => `a removed agent leaves no entry of a name index: ${detail} (${path})`,
  )
}

export function conversation({ records, text }: AgentSeen, content: string): Conversation {
  const runs = new Set<string>()
  const found: Conversation = { asked: 0, replies: [], completed: 0 }
  for (const record of records) {
    const isPrompt = record.kind === 'message.user' || record.kind === 'mail.delivered'
    if (isPrompt && text(record) === content) {
      found.asked += 1
      runs.add(record.run_id)
    }
    if (record.kind === 'run.started' && runs.has(record.continues ?? '')) runs.add(record.run_id)
    if (!('run_id' in record) || !runs.has(record.run_id as string)) continue
    if (record.kind === 'message.agent') found.replies.push(text(record))
    if (record.kind === 'run.completed') found.completed += 1
  }
  return found
}

function see(store: Store, id: string): AgentSeen | undefined {
  let log: OpenedLog | undefined
  try {
    log = store.openLog(id)
    if (log === undefined) return undefined
    const state = openForRead(store, id)?.state as State
    const records = [...recordsFrom(log, { seq: 1, offset: 0 })].map(({ record }) => record)
    const text = (record: SessionRecord): string => readRecordText(store, id, record)
    const pending = store.mail.ids(id).filter((mail) => !state.delivered.includes(mail))
    return { state, records, text, pending, log: log.read(0, state.log_bytes) }
  } catch {
    return undefined
  } finally {
    log?.close()
  }
}
