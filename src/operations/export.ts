/** `export`: the whole conversation of an agent, for use outside substrat. */

import { readState } from '../dispatch/read-state.js'
import { viewAgent } from '../dispatch/view.js'
import type { JsonObject } from '../provider/contract.js'
import type { Conversation, ExportedAct, ExportedMessage } from '../schema/output-home.js'
import type { Content } from '../schema/types.js'
import { type Entry, entryOf } from '../session/entries.js'
import { recordsFrom } from '../session/load.js'
import { readText } from '../session/read.js'
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
      const entry = entryOf(record)
      // The record right after a reply, in its batch, has the items of the same response.
      if (entry.type === 'response') items.push(...itemsOf(entry, textIn(store, agentId)))
      if (reply !== undefined) {
        yield { ...reply, ...(items.length === 0 ? {} : { items }), ...acts.take() }
        items = []
        reply = undefined
      }
      if (entry.type === 'turn') items = []
      acts.add(entry)
      const message = messageOf(entry, store, agentId)
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

  add(entry: Entry): void {
    if (entry.type === 'turn') this.take()
    else if (entry.type === 'note') this.acts.push({ at: entry.ts, note: entry.content })
    else if (entry.type === 'call' && entry.isOwn) {
      const { ts: at, tool, input } = entry
      const act = { at, tool, ...(input === undefined ? {} : { input }) }
      this.open.set(entry.call_id, act)
      this.acts.push(act)
    } else if (entry.type === 'result' && entry.isOwn) {
      const act = this.open.get(entry.call_id)
      if (act === undefined) return
      act.output = readText(this.store, this.agentId, entry.content)
      act.is_error = entry.is_error
    }
  }

  take(): { acts?: ExportedAct[] } {
    const { acts } = this
    this.acts = []
    this.open.clear()
    return acts.length === 0 ? {} : { acts }
  }
}

function messageOf(entry: Entry, store: Store, agentId: string): ExportedMessage | undefined {
  if (entry.type !== 'prompt' && entry.type !== 'reply' && entry.type !== 'mail') return undefined
  const role = entry.type === 'reply' ? 'assistant' : 'user'
  const from = entry.type === 'reply' ? agentId : entry.type === 'mail' ? entry.from : senderOf(entry)
  const content = readText(store, agentId, entry.content)
  return { role, from, at: entry.ts, run_id: entry.run_id, content }
}

/** A prompt that substrat wrote to continue a turn is not the operator's. */
function senderOf({ origin }: Extract<Entry, { type: 'prompt' }>): string {
  return origin === 'operator' ? 'operator' : 'substrat'
}

function textIn(store: Store, agentId: string): { text(content: Content): string } {
  return { text: (content) => readText(store, agentId, content) }
}
