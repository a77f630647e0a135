import type { SendRequest } from '../../src/operations/message/request.js'

/** A request without a key, with the defaults of the `send` command. */
export function sendRequest(agentId: string, over: Partial<SendRequest> = {}): SendRequest {
  return {
    agentId,
    content: 'hi',
    key: null,
    retry: false,
    ifBusy: 'wait',
    turn_timeout_ms: null,
    ifWaiting: 'supersede',
    allow: [],
    steps_max: null,
    isFirst: false,
    isQueued: false,
    kind: 'request',
    notBefore: null,
    ...over,
  }
}
