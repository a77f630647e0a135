/** The end of a wait by a decision, for a person who comes too late with another. */
import { readableTime } from '../clock.js'
import { actorText, type Reader } from '../schema/actors.js'
import type { Actor } from '../schema/types.js'
import type { Decision } from '../schema/words.js'
import { recordsFrom, withAgent } from '../session/load.js'
import type { SessionRecord } from '../session/records.js'
import type { Store } from '../storage/store.js'

export interface EndOfWait {
  /** `was approved`. */
  how: string
  at: string
  /** Undefined in logs of earlier versions. */
  actor: Actor | undefined
}

/** An agent may have used thousands of tools since. */
const RECORDS_MAX = 2000

/** The end of the latest wait of the run. Undefined if it was long ago, or if no decision ended it. */
export function endOfLatestWait(store: Store, agentId: string, runId: string): EndOfWait | undefined {
  return withAgent(store, agentId, (_, { log }) => {
    let left = RECORDS_MAX
    for (const { record } of log.recordsFromEnd()) {
      if (left-- === 0) return undefined
      if (record.run_id !== runId) continue
      const known = record as unknown as SessionRecord
      if (known.kind === 'run.waiting') return undefined
      const end = endIn(known)
      if (end !== undefined) return end
    }
    return undefined
  })
}

/**
 * The end of the wait that had the token. A decision without the token has replaced it in the same batch. So the first decision after
 * that token counts, also with another token.
 */
export function endOfWaitOn(store: Store, agentId: string, token_id: string): EndOfWait | undefined {
  return withAgent(store, agentId, ({ state }, { log }) => {
    const run = state.tokens.find((entry) => entry.token_id === token_id)?.run
    if (run === undefined) return undefined
    let runId: string | undefined
    for (const { record } of recordsFrom(log, run)) {
      if (record.kind === 'token.minted' && record.token_id === token_id) runId = record.run_id
      if (runId === undefined || !('run_id' in record) || record.run_id !== runId) continue
      const end = endIn(record)
      if (end !== undefined) return end
    }
    return undefined
  })
}

function endIn(record: SessionRecord): EndOfWait | undefined {
  const { ts: at } = record
  if (record.kind === 'token.consumed') return { how: DECIDED[record.decision], at, actor: record.actor }
  if (record.kind !== 'run.cancelled') return undefined
  const how = CANCELLED[record.reason]
  return how === undefined ? undefined : { how, at, actor: record.actor }
}

const DECIDED: Record<Decision, string> = {
  approve: 'was approved',
  deny: 'was denied',
  input: 'was answered',
  result: 'got a result',
}

const CANCELLED: Partial<Record<SessionRecord<'run.cancelled'>['reason'], string>> = {
  cancelled: 'was cancelled',
  superseded: 'got another message',
  terminated: 'was terminated',
}

/** `was approved by token phone at 10:02:11`. */
export function endText({ how, at, actor }: EndOfWait, reader: Reader): string {
  return how + byText({ at, actor }, reader)
}

/** ` by token phone at 10:02:11`, or the time alone. */
export function byText({ at, actor }: Omit<EndOfWait, 'how'>, reader: Reader): string {
  const by = actor === undefined ? '' : ` by ${actorText(actor, reader)}`
  return `${by} at ${readableTime(at)}`
}
