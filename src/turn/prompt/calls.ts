/** The tool calls of a response, with their whole inputs. */
import type { JsonObject, ToolCall } from '../../provider/contract.js'
import type { CallRecord } from '../../schema/types.js'
import type { Session } from '../../session/session.js'

/** The calls of the open run, with their inputs: those that a person chose, if there are any. */
export function openCalls(session: Pick<Session, 'state' | 'recordAt' | 'text'>): ToolCall[] {
  const { calls_at = null, calls = [] } = session.state.run ?? {}
  const record = calls_at === null ? undefined : session.recordAt(calls_at)
  if (record?.kind !== 'model.responded') return []
  return inputsOf(record.calls ?? [], session).map((made) => {
    const at = calls.find(({ call_id }) => call_id === made.call_id)?.edited_at
    const edited = at === undefined ? undefined : session.recordAt(at)
    return edited?.kind === 'tool.edited' ? toolCall({ ...edited, name: made.name }, session) : made
  })
}

/** The calls with their whole inputs. */
export function inputsOf(calls: CallRecord[], session: Pick<Session, 'text'>): ToolCall[] {
  return calls.map((call) => toolCall(call, session))
}

export function toolCall(
  call: Pick<CallRecord, 'call_id' | 'name' | 'input' | 'input_blob'>,
  session: Pick<Session, 'text'>,
): ToolCall {
  const input =
    call.input_blob === undefined ? call.input : (JSON.parse(session.text(call.input_blob)) as JsonObject)
  return { call_id: call.call_id, name: call.name, input: input ?? {} }
}
