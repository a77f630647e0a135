import { type MessageRequest, PLAIN } from '../../src/operations/message/request.js'

/** A request without a key, with the defaults of the `send` command. */
export function sendRequest(agentId: string, over: Partial<MessageRequest> = {}): MessageRequest {
  return { ...PLAIN, agentId, content: 'hi', turn_timeout_ms: null, allow: [], steps_max: null, ...over }
}
