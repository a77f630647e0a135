/** The provider of a channel's session (src/channel). A channel takes no turns: its messages go to the agents of its threads. */
import type { ModelProvider } from './contract.js'
import { providerFailure } from './failure.js'

export const channel: ModelProvider = {
  kind: 'model',
  description: 'for the sessions of channels, which take no turns',
  options: { type: 'the channel plugin' },
  // biome-ignore lint/correctness/useYield: it has no answer
  async *complete() {
    throw providerFailure('misconfigured', 'a channel takes no turns; run it: substrat channel run NAME')
  },
}
