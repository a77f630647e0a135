/** What the tools of the agent tree need of the outside: the caller's own session, and what only dispatch can do. */
import type { ProviderSettings } from '../../provider/contract.js'
import type { Session } from '../../session/session.js'
import type { TreeBounds } from '../../tree/create-agent.js'

export interface TreePorts {
  /** The caller's. Only its holder writes in it. */
  session: Session
  bounds: TreeBounds
  /** What lock files say of us. */
  command: string
  /** Mail was stored for that agent: it gets its turn, in this process or by whoever holds it. */
  wake(agentId: string): void
  /**
   * Gives the other agent its turns, here or by whoever holds it, until `isAnswered`. Undefined then; else why the answer
   * does not come for now.
   */
  runUntil(agentId: string, isAnswered: () => boolean, signal: AbortSignal): Promise<string | undefined>
  /**
   * Throws where the provider is not there, or says that it cannot work so; and unless `isFree` also where it is one that
   * runs programs or has secrets to send somewhere: what that does, its options say.
   */
  checkProvider(provider: string, settings: ProviderSettings, isFree: boolean): Promise<void>
}
