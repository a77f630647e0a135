/** Checks a resume token before a command that would consume it. */
import { readState } from '../dispatch/read-state.js'
import type { Store } from '../storage/store.js'
import { tokenOf } from '../turn/tokens.js'

/** Whether the agent has a token with this secret, also one that is consumed, revoked or expired. */
export function hasToken(store: Store, agentId: string, secret: string): boolean {
  return tokenOf(readState(store, agentId), secret) !== undefined
}
