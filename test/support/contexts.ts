/** A dispatch context without the command line. It records notes and never waits. */
import type { Context } from '../../src/dispatch/context.js'
import { withDeliveries } from '../../src/dispatch/deliveries.js'
import { type PluginFacts, ProviderRegistry } from '../../src/provider/registry.js'
import type { Store } from '../../src/storage/store.js'
import { Shutdown } from '../../src/turn/stop.js'
import { TREE_BOUNDS } from './sessions.js'

export interface ContextFacts {
  bounds?: Partial<Context['bounds']>
  /** Whether mail is delivered at all. */
  drains?: boolean
  /** The maximum number of turns for mail. */
  turnsMax?: number
  /** Tools that may change things without approval. */
  allow?: string[]
  caller?: string | null
  plugins?: PluginFacts[]
  outbound?: Context['outbound']
}

export function contextAt(store: Store, facts: ContextFacts = {}): { ctx: Context; notes: string[] } {
  const notes: string[] = []
  const quiet = (): void => undefined
  const note = (text: string): void => void notes.push(text)
  const parts = {
    store,
    providers: new ProviderRegistry(() => facts.plugins ?? []),
    bounds: {
      slotsMax: 1,
      waitMs: 0,
      turnTimeoutMs: 3_600_000,
      toolTimeoutMs: 3_600_000,
      tokenLifetimeMs: 3_600_000,
      retryDelaysMs: [],
      budget: { caps: [], turn: {}, cachedWeight: 1, zone: () => 'UTC' },
      ...TREE_BOUNDS,
      ...facts.bounds,
    },
    tools: { allow: facts.allow ?? [], servers: {}, unknownTool: 'stop' as const },
    keptServers: { max: 0, keeps: false },
    reporter: {
      record: quiet,
      progress: quiet,
      wait: () => quiet,
      count: quiet,
      text: quiet,
      mute: () => quiet,
      token: quiet,
      reported: quiet,
      note,
    },
    // Waits for no signal.
    shutdown: new Shutdown(0, quiet, 0),
    caller: facts.caller ?? null,
    command: 'test',
    outbound: facts.outbound ?? { rules: [], secrets: {}, wake: quiet, untilSent: async () => undefined },
  }
  const { drains: isOn = true, turnsMax } = facts
  return { ctx: withDeliveries(parts, { isOn, ...(turnsMax === undefined ? {} : { turnsMax }) }), notes }
}
