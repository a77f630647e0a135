/** The calls that an agent asks to run, with their whole arguments, for a person who decides about them. */
import type { JsonObject } from '../provider/contract.js'
import { recordAt, withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import { openWait } from '../session/status.js'
import type { Store } from '../storage/store.js'
import { inputsOf } from '../turn/prompt/calls.js'

export interface PendingCalls {
  token_id: string
  calls: { call_id: string; tool: string; input: JsonObject }[]
  /** False for the calls of an agent program, which runs them itself. */
  canBeEdited: boolean
}

/** Undefined if the agent waits for no approval. The record of the wait has only shortened arguments. */
export function pendingCalls(store: Store, agentId: string): PendingCalls | undefined {
  return withAgent(store, agentId, ({ state }, { log }) => {
    const wait = openWait(state)
    if (wait?.kind !== 'approval' || wait.resume_token_id === null) return undefined
    const token_id = wait.resume_token_id
    const parked = recordAt(log, wait.at)
    const asks = parked?.kind === 'run.waiting' ? (parked.asks ?? []) : []
    const at = state.run?.calls_at
    const record = at == null ? undefined : recordAt(log, at)
    const made =
      record?.kind === 'model.responded'
        ? inputsOf(record.calls ?? [], { text: (content) => readText(store, agentId, content) })
        : []
    const calls = asks.map(({ call_id, tool, input }) => ({
      call_id,
      tool,
      input: made.find((call) => call.call_id === call_id)?.input ?? input,
    }))
    return {
      token_id,
      calls,
      canBeEdited: calls.every(({ call_id }) => made.some((call) => call.call_id === call_id)),
    }
  })
}
