/**
 * Records the results of attempts in the log of the agent. If another process holds the agent, that process records them: each
 * result is handed over as a control message with a derived id.
 *
 * On disk after a crash: the entry is still pending, and the next command sends it again with the same id.
 */
import { SubstratError } from '../errors.js'
import { post } from '../mail/post.js'
import { messagesIn } from '../mail/stored-messages.js'
import type { OutboundResult } from '../schema/mail.js'
import { entriesAfter } from '../session/fold/outbound.js'
import { deriveId } from '../session/ids.js'
import { openForAppend } from '../session/session.js'
import type { OutboundEntry, State } from '../session/state.js'
import type { Store } from '../storage/store.js'

export interface RecordingOptions {
  command: string
  /** Whether the agent needs another visit once the results are recorded. */
  needsVisit(state: State): boolean
}

/** Never waits for the agent. Throws if the storage fails. */
export async function recordResults(
  store: Store,
  state: Pick<State, 'id' | 'path'>,
  results: OutboundResult[],
  { command, needsVisit }: RecordingOptions,
): Promise<void> {
  try {
    const session = await openForAppend(store, state.id, { command, waitMs: 0 })
    try {
      const pending = session.state.outbound ?? []
      session.append(results.filter((result) => isPending(pending, result)))
      await session.close(needsVisit)
    } finally {
      await session.abandon()
    }
  } catch (error) {
    if (!(error instanceof SubstratError) || error.code !== 'LOCKED') throw error
    for (const result of results) handOver(store, state, result)
  }
}

function isPending(pending: OutboundEntry[], { outbound_id }: OutboundResult): boolean {
  return pending.some((entry) => entry.outbound_id === outbound_id)
}

function handOver(store: Store, { id, path }: Pick<State, 'id' | 'path'>, result: OutboundResult): void {
  const { kind, outbound_id } = result
  const attempt = 'attempt' in result ? String(result.attempt) : ''
  try {
    post(store, {
      message_id: deriveId(outbound_id, kind, attempt),
      from: id,
      from_path: path,
      to: id,
      kind: 'control',
      content: '',
      control: { verb: 'outbound', result },
    })
  } catch (error) {
    // A terminated agent takes no mail. The message is sent again, with the same id. An attempt must not begin without its record.
    const isUndeliverable = error instanceof SubstratError && error.code === 'UNDELIVERABLE'
    if (!isUndeliverable || kind === 'outbound.attempted') throw error
  }
}

/** The pending entries without the results that were handed over and are not in the log yet. */
export function pendingEntries(store: Store, state: State): OutboundEntry[] {
  let entries = state.outbound ?? []
  if (entries.length === 0) return entries
  for (const { control } of messagesIn(store, state.id))
    if (control?.verb === 'outbound') entries = entriesAfter(entries, control.result)
  return entries
}
