/** The policy of the tools with the arguments of the calls, which a pattern of `allow` matches. The state has no arguments. */
import type { Session } from '../session/session.js'
import { inputsOf, openCalls } from './prompt/calls.js'
import type { ToolPolicy, TurnEvent } from './step/turn-event.js'
import { coversCall, isPattern } from './tools/allow.js'

/** The calls are those of this response, or of the response in the log. */
export function callPolicy(session: Session, policy: ToolPolicy, event: TurnEvent): ToolPolicy {
  return {
    kindOf: (tool) => policy.kindOf(tool),
    covers: (allow, callId) => {
      if (!allow.some(isPattern)) return false
      const calls = event.type === 'model_responded' ? inputsOf(event.calls, session) : openCalls(session)
      const call = calls.find(({ call_id }) => call_id === callId)
      return call !== undefined && coversCall(allow, call.name, call.input)
    },
  }
}
