/** Builds the toolbox of an agent from the settings, and gives the tree tools the functions of this layer. */
import { SubstratError } from '../errors.js'
import type { Provider, ProviderSettings } from '../provider/contract.js'
import type { Session } from '../session/session.js'
import { Toolbox } from '../turn/tools/toolbox.js'
import type { Context } from './context.js'

export function toolboxOf(ctx: Context, session: Session): Toolbox {
  return new Toolbox({
    workspace: session.state.workspace,
    home: ctx.store.address,
    timeoutMs: ctx.bounds.toolTimeoutMs,
    servers: ctx.tools.servers,
    onUnknown: [...(session.state.on_unknown ?? []), ...(ctx.tools.onUnknown ?? [])],
    unknownTool: ctx.tools.unknownTool,
    trustsHints: ctx.tools.trustsHints === true,
    note: (text) => ctx.reporter.note(text),
    tree: {
      session,
      bounds: ctx.bounds,
      command: ctx.command,
      wake: (agentId) => ctx.deliveries.wake(agentId),
      runUntil: (agentId, isAnswered, signal) => ctx.deliveries.runUntil(agentId, isAnswered, signal),
      withDefaults: (provider, settings) => ctx.providers.withDefaults(provider, settings),
      checkProvider: (provider, settings, isFree) => checkProvider(ctx, provider, settings, isFree),
    },
  })
}

async function checkProvider(
  ctx: Context,
  name: string,
  settings: ProviderSettings,
  isFree: boolean,
): Promise<Provider> {
  const provider = await ctx.providers.check(name, settings)
  const isHarmless = provider.kind === 'model' && (provider.secrets?.(settings) ?? []).length === 0
  if (isFree || isHarmless) return provider
  throw new SubstratError(
    'TREE_RULES',
    `provider ${name} could give the child more rights than its parent: its options choose what runs and where secrets go`,
    { hint: 'use the provider and options of the parent; or allow the parent shell, or all' },
  )
}
