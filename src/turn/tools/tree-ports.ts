/** The services that the tree tools need: the caller's session, and functions of dispatch. */
import type { Provider, ProviderSettings } from '../../provider/contract.js'
import type { ProviderDefaults } from '../../provider/registry.js'
import type { Session } from '../../session/session.js'
import type { TreeBounds } from '../../tree/create-agent.js'

export interface TreePorts {
  /** The calling agent's session. Only its holder writes to it. */
  session: Session
  bounds: TreeBounds
  /** The command that our lock files name. */
  command: string
  /** Runs that agent, here or in its holder, after mail was stored for it. */
  wake(agentId: string): void
  /**
   * Runs the other agent, here or in its holder, until `isAnswered`. Returns undefined then, or else the reason why no
   * answer can come now.
   */
  runUntil(agentId: string, isAnswered: () => boolean, signal: AbortSignal): Promise<string | undefined>
  /** The settings of a child with another provider than its parent: where they say nothing, the user's defaults. */
  withDefaults<T extends ProviderDefaults>(provider: string, settings: T): Promise<T>
  /**
   * Throws if the provider does not exist or refuses the settings. Unless `isFree`, also throws for a provider that runs
   * programs or has secrets, because its options choose what runs and where the secrets go.
   */
  checkProvider(provider: string, settings: ProviderSettings, isFree: boolean): Promise<Provider>
}
