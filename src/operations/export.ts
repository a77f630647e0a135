/** `export`: the whole conversation of an agent, for use outside substrat. */

import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import type { JsonObject } from '../provider/contract.js'
import type { Conversation, ExportedAct, ExportedMessage } from '../schema/output-home.js'
import type { Content } from '../schema/types.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { Store } from '../storage/store.js'
import { itemsOf } from '../turn/prompt/history.js'

export function exportConversation(store: Store, agentId: string): Conversation {
  const state = readState(store, agentId)
  const instructions = state.instructions === null ? null : readText(store, agentId, state.instructions)
  return { agent: viewAgent(store, state), instructions, messages: [...messagesOf(store, agentId)] }
}

function* messagesOf(store: Store, agentId: string): Generator<ExportedMessage> {
  const log = store.openLog(agentId)
  if (log === undefined) return
  let items: JsonObject[] = []
  const acts = new Acts(store, agentId)
  let reply: ExportedMessage | undefined
  try {
    for (const { record } of recordsFrom(log, { seq: 1, offset: 0 })) {
      // The record right after a reply, in its batch, has the items of the same response.
      if (record.kind === 'model.responded') items.push(...itemsOf(record, textIn(store, agentId)))
      if (reply !== undefined) {
        yield { ...reply, ...(items.length === 0 ? {} : { items }), ...acts.take() }
        items = []
        reply = undefined
      }
      if (record.kind === 'run.started') items = []
      acts.add(record)
      const message = messageOf(record, store, agentId)
      if (message?.role === 'assistant') reply = message
      else if (message !== undefined) yield message
    }
    if (reply !== undefined) yield { ...reply, ...acts.take() }
  } finally {
    log.close()
  }
}

/** The tool calls and notes of a program since the last reply of the agent. */
class Acts {
  private acts: ExportedAct[] = []
  private readonly open = new Map<string, ExportedAct>()

  constructor(
    private readonly store: Store,
    private readonly agentId: string,
  ) {}

  add(record: SessionRecord): void {
    if (record.kind === 'run.started') this.take()
    else if (record.kind === 'program.note') this.acts.push({ at: record.ts, note: record.content })
    else if (record.kind === 'program.tool_started') {
      const { ts: at, tool, input } = record
      const act = { at, tool, ...(input === undefined ? {} : { input }) }
      this.open.set(record.call_id, act)
      this.acts.push(act)
    } else if (record.kind === 'program.tool_finished') {
      const act = this.open.get(record.call_id)
      if (act === undefined) return
      act.output = readText(this.store, this.agentId, record.content)
      act.is_error = record.is_error
    }
  }

  take(): { acts?: ExportedAct[] } {
    const { acts } = this
    this.acts = []
    this.open.clear()
    return acts.length === 0 ? {} : { acts }
  }
}

function messageOf(record: SessionRecord, store: Store, agentId: string): ExportedMessage | undefined {
  if (record.kind !== 'message.user' && record.kind !== 'message.agent' && record.kind !== 'mail.delivered')
    return undefined
  const role = record.kind === 'message.agent' ? 'assistant' : 'user'
  const from =
    record.kind === 'message.user' ? 'operator' : record.kind === 'mail.delivered' ? record.from : agentId
  const content = readText(store, agentId, record.content)
  return { role, from, at: record.ts, run_id: record.run_id, content }
}

function textIn(store: Store, agentId: string): { text(content: Content): string } {
  return { text: (content) => readText(store, agentId, content) }
}
