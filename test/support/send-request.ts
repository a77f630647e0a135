import type { SendRequest } from '../../src/dispatch/send-request.js'

/** A request without a key, with the defaults of the `send` command. */
export function sendRequest(agentId: string, over: Partial<SendRequest> = {}): SendRequest {
  return {
    agentId,
    content: 'hi',
    key: null,
    retry: false,
    ifBusy: 'wait',
    turnTimeoutMs: null,
    ifWaiting: 'supersede',
    allow: [],
    stepsMax: null,
    isFirst: false,
    isQueued: false,
    kind: 'request',
    notBefore: null,
    ...over,
  }
}
