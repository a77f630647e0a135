/** The policy of the tools with the arguments of the calls, which a pattern of `allow` matches. The state has no arguments. */
import type { ToolCall } from '../provider/contract.js'
import type { Session } from '../session/session.js'
import { inputsOf, openCalls } from './prompt/calls.js'
import type { ToolPolicy, TurnEvent } from './step/turn-event.js'
import { coversCall, isPattern } from './tools/allow.js'
import type { UnknownAction } from './tools/on-unknown.js'

/** The calls are those of this response, or of the response in the log. */
export function callPolicy(session: Session, policy: Policy, event?: TurnEvent): ToolPolicy {
  const callOf = (callId: string): ToolCall | undefined => {
    const calls = event?.type === 'model_responded' ? inputsOf(event.calls, session) : openCalls(session)
    return calls.find(({ call_id }) => call_id === callId)
  }
  return {
    kindOf: (tool) => policy.kindOf(tool),
    covers: (allow, callId) => {
      if (!allow.some(isPattern)) return false
      const call = callOf(callId)
      return call !== undefined && coversCall(allow, call.name, call.input)
    },
    ruleFor: (callId) => {
      if (policy.ruleOf === undefined) return undefined
      const call = callOf(callId)
      return call === undefined ? undefined : policy.ruleOf(call.name, call.input)
    },
  }
}

/** The policy of a toolbox. `ruleOf`: the rule for a call with that input. */
export interface Policy extends Pick<ToolPolicy, 'kindOf'> {
  ruleOf?: ((tool: string, input: object) => UnknownAction | undefined) | undefined
}
