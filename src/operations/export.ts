/** `export`: the whole conversation of an agent, for use outside substrat. */

import { readState } from '../dispatch/read-state.js'
import { type AgentView, viewAgent } from '../dispatch/view.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { FileStore } from '../storage/store.js'

interface ExportedMessage {
  role: 'user' | 'assistant'
  /** `operator`, or an agent's id. */
  from: string
  at: string
  run_id: string
  content: string
}

export interface Conversation {
  agent: AgentView
  instructions: string | null
  messages: ExportedMessage[]
}

export function exportConversation(store: FileStore, agentId: string): Conversation {
  const state = readState(store, agentId)
  const instructions = state.instructions === null ? null : readText(store, agentId, state.instructions)
  return { agent: viewAgent(store, state), instructions, messages: [...messagesOf(store, agentId)] }
}

function* messagesOf(store: FileStore, agentId: string): Generator<ExportedMessage> {
  const log = store.logs.openForRead(agentId)
  if (log === undefined) return
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      if (
        record.kind !== 'message.user' &&
        record.kind !== 'message.agent' &&
        record.kind !== 'mail.delivered'
      )
        continue
      const role = record.kind === 'message.agent' ? 'assistant' : 'user'
      const from =
        record.kind === 'message.user' ? 'operator' : record.kind === 'mail.delivered' ? record.from : agentId
      yield {
        role,
        from,
        at: record.ts,
        run_id: record.run_id,
        content: readText(store, agentId, record.content),
      }
    }
  } finally {
    log.close()
  }
}
