/** The calls that an agent asks to run, or its question, with their whole arguments, for a person who decides. */
import { askText } from '../dispatch/ask-text.js'
import type { JsonObject } from '../provider/contract.js'
import { type Question, questionsIn } from '../schema/questions.js'
import { recordAt, withAgent } from '../session/load.js'
import { readText } from '../session/read.js'
import type { State } from '../session/state.js'
import { openWait } from '../session/status.js'
import { otherHost } from '../session/workspace-host.js'
import type { OpenedAgent, Store } from '../storage/store.js'
import { inputsOf } from '../turn/prompt/calls.js'

export interface PendingCalls {
  token_id: string
  calls: { call_id: string; tool: string; input: JsonObject }[]
  /** False for the calls of an agent program, which runs them itself. */
  canBeEdited: boolean
}

/** A parked turn that a person can decide, and where the decision belongs. */
export interface PendingAsk extends PendingCalls {
  kind: 'approval' | 'input'
  agentId: string
  path: string
  runId: string
  /** Undefined if it is on another host. */
  workspace: string | undefined
  /** Empty for an approval. */
  questions: Question[]
}

/** Undefined if the agent waits for no approval. */
export function pendingCalls(store: Store, agentId: string): PendingCalls | undefined {
  const ask = pendingAsk(store, agentId)
  if (ask?.kind !== 'approval') return undefined
  const { token_id, calls, canBeEdited } = ask
  return { token_id, calls, canBeEdited }
}

/** Undefined if the agent waits for no approval and for no answer. */
export function pendingAsk(store: Store, agentId: string): PendingAsk | undefined {
  return withAgent(store, agentId, ({ state }, opened) => {
    const wait = openWait(state)
    if ((wait?.kind !== 'approval' && wait?.kind !== 'input') || wait.resume_token_id === null)
      return undefined
    const { path, workspace, run } = state
    const asked = callsOf(store, state, opened)
    return {
      kind: wait.kind,
      agentId,
      path,
      runId: run?.run_id ?? '',
      workspace: otherHost(store, state) === undefined ? workspace : undefined,
      token_id: wait.resume_token_id,
      ...asked,
      questions: wait.kind === 'input' ? questionsOf(asked) : [],
    }
  })
}

function questionsOf({ calls }: Pick<PendingCalls, 'calls'>): Question[] {
  const asOne = (text: string): Question => ({ text, choices: [], takes_several: false })
  const questions = calls.flatMap((call) => {
    const asked = questionsIn(call.input)
    const [, text] = askText({ kind: 'input', asks: [] }, call)
    return asked.length > 0 ? asked : [asOne(text)]
  })
  return questions.length > 0 ? questions : [asOne('a question that its log does not have')]
}

/** The record of the wait has only shortened arguments. */
function callsOf(
  store: Store,
  state: State,
  { log }: Pick<OpenedAgent, 'log'>,
): Pick<PendingCalls, 'calls' | 'canBeEdited'> {
  const wait = openWait(state)
  const parked = wait === null ? undefined : recordAt(log, wait.at)
  const asks = parked?.kind === 'run.waiting' ? (parked.asks ?? []) : []
  const at = state.run?.calls_at
  const record = at == null ? undefined : recordAt(log, at)
  const made =
    record?.kind === 'model.responded'
      ? inputsOf(record.calls ?? [], { text: (content) => readText(store, state.id, content) })
      : []
  const calls = asks.map(({ call_id, tool, input }) => ({
    call_id,
    tool,
    input: made.find((call) => call.call_id === call_id)?.input ?? input,
  }))
  return {
    calls,
    canBeEdited: calls.every(({ call_id }) => made.some((call) => call.call_id === call_id)),
  }
}
