/** The latest decision about an agent, for a person who comes too late with another. */
import { readableTime } from '../clock.js'
import { actorText, type Reader } from '../schema/actors.js'
import type { Actor } from '../schema/types.js'
import type { Decision } from '../schema/words.js'
import { currentActor } from '../session/actor.js'
import { recordsFrom, withAgent } from '../session/load.js'
import type { SessionRecord } from '../session/records.js'
import type { Store } from '../storage/store.js'

export interface MadeDecision {
  decision: Decision
  at: string
  /** Undefined in logs of earlier versions. */
  actor: Actor | undefined
}

/** An agent may have used thousands of tools since. */
const RECORDS_MAX = 2000

/** The latest decision of the run. Undefined if it was made long ago. */
export function decisionOfRun(store: Store, agentId: string, runId: string): MadeDecision | undefined {
  return withAgent(store, agentId, (_, { log }) => {
    let left = RECORDS_MAX
    for (const { record } of log.recordsFromEnd()) {
      if (left-- === 0) return undefined
      if (record.run_id !== runId) continue
      const made = decisionIn(record as unknown as SessionRecord)
      if (made !== undefined) return made
    }
    return undefined
  })
}

/**
 * The decision about the wait of the token. A decision without the token has replaced it in the same batch. So the first decision after
 * that token counts, also with another token.
 */
export function decisionOnToken(store: Store, agentId: string, token_id: string): MadeDecision | undefined {
  return withAgent(store, agentId, ({ state }, { log }) => {
    const run = state.tokens.find((entry) => entry.token_id === token_id)?.run
    if (run === undefined) return undefined
    let runId: string | undefined
    for (const { record } of recordsFrom(log, run)) {
      if (record.kind === 'token.minted' && record.token_id === token_id) runId = record.run_id
      if (runId === undefined || !('run_id' in record) || record.run_id !== runId) continue
      const made = decisionIn(record)
      if (made !== undefined) return made
    }
    return undefined
  })
}

function decisionIn(record: SessionRecord): MadeDecision | undefined {
  if (record.kind !== 'token.consumed') return undefined
  const { decision, ts, actor } = record
  return { decision, at: ts, actor }
}

export const DECIDED: Record<Decision, string> = {
  approve: 'was approved',
  deny: 'was denied',
  input: 'was answered',
  result: 'got a result',
}

/** ` by token phone at 10:02:11`, or the time alone. */
export function madeText({ at, actor }: MadeDecision): string {
  const by = actor === undefined ? '' : ` by ${actorText(actor, readerHere())}`
  return `${by} at ${readableTime(at)}`
}

function readerHere(): Reader {
  const { face, uid, token } = currentActor() ?? {}
  return face === 'cli' ? { uid } : { token }
}
