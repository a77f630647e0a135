/** The message that began the latest turn of an agent. */
import { readRecordText } from '../session/read.js'
import type { SessionRecord } from '../session/records.js'
import type { Location, State } from '../session/state.js'
import type { OpenedAgent, Store } from '../storage/store.js'

/** How far back to look for the message of a turn that was continued: an agent program may have used thousands of tools since. */
const RECORDS_MAX = 5000

/** Null if the agent has had no turn, or if the message is too far back. */
export function turnPrompt(
  store: Store,
  { id, run }: State,
  { log }: Pick<OpenedAgent, 'log'>,
  recordAt: (at: Location) => SessionRecord | undefined,
): string | null {
  const [place] = run?.prompts ?? []
  const record = place === undefined ? undefined : recordAt(place)
  // A program that was cut short has received the recovery prompt last, which is from substrat.
  const prompt = record !== undefined && isRecoveryPrompt(record) ? firstPromptIn(log) : record
  return prompt === undefined ? null : readRecordText(store, id, prompt)
}

/** The first message after the beginning of the turn, whose later runs continue the first one. */
function firstPromptIn(log: OpenedAgent['log']): SessionRecord | undefined {
  let left = RECORDS_MAX
  let first: SessionRecord | undefined
  for (const each of log.recordsFromEnd()) {
    const record = each.record as unknown as SessionRecord
    if (record.kind === 'run.started' && record.continues === undefined) return first
    const isPrompt =
      (record.kind === 'message.user' && !isRecoveryPrompt(record)) ||
      (record.kind === 'mail.delivered' && record.call_id === undefined)
    if (isPrompt) first = record
    if (left-- === 0) return undefined
  }
  return first
}

function isRecoveryPrompt(record: SessionRecord): boolean {
  return record.kind === 'message.user' && record.origin === 'continuation'
}
